# The program that a CLI starts for a hook if it cannot send it by HTTP: hook.sh FILE EVENT WHEN_AWAY WAIT SECONDS WORDS…
#
# It hands what it reads to the relay on loopback and prints the answer. FILE has the relay's port, the token, and the
# word by which the relay is known. If the relay cannot be reached, it becomes the program of WORDS, which asks the daemon
# itself. Exit code 2 is how a call is blocked; every other failure would let it run.
#
# Bash without other programs: it starts in 3 ms, Python in 15.

LC_ALL=C
file=$1 event=$2 when_away=$3 wait=$4 limit=$5
shift 5

failed() {
    [[ $event == PreToolUse ]] || exit 0
    printf 'The hook of chaperon failed (%s), so this call was not run.' "$1" >&2
    exit 2
}
trap 'failed "the relay hung up"' PIPE

{ IFS= read -r port; IFS= read -r token; IFS= read -r proof; } 2>/dev/null <"$file" || exec "$@"
[[ $port =~ ^[0-9]+$ && -n $proof ]] || exec "$@"
{ exec 3<>"/dev/tcp/127.0.0.1/$port"; } 2>/dev/null || exec "$@"

IFS= read -r -d '' -N 8192 body  # a byte at a time, which is dear for long ones
((${#body} < 8192)) || body+=$(command -p cat)

printf -v about 'x-claude-code-entrypoint: %s\r\nx-ci: %s\r\nx-term-program: %s\r\n' \
    "${CLAUDE_CODE_ENTRYPOINT//[^ -~]/}" "${CI//[^ -~]/}" "${TERM_PROGRAM//[^ -~]/}"
printf 'POST /chaperon-hooks/%s?away=%s&wait=%s HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer %s\r\n%scontent-length: %d\r\nconnection: close\r\n\r\n%s' \
    "$event" "$when_away" "$wait" "$token" "$about" "${#body}" "$body" >&3 || failed 'the relay hung up'

IFS= read -r -t "$limit" status <&3 || failed 'the relay hung up'
length= proven=
while IFS= read -r line <&3 && [[ $line != $'\r' ]]; do
    line=${line%$'\r'}
    case ${line%%:*} in
    content-length) length=${line#*: } ;;
    chaperon-proof) proven=${line#*: } ;;
    esac
done
[[ $proven == "$proof" || $event != SessionStart ]] || {
    printf '{"systemMessage": "%s"}' "Another program has the port of chaperon's hooks, and could let calls of this session run without a review. End it, or: chaperon detach, and chaperon attach --by command."
    exit 0
}
[[ $proven == "$proof" ]] || failed 'another program has the port of the relay'
[[ $status == 'HTTP/1.1 200 '* && $length =~ ^[0-9]+$ ]] || failed "the relay answered ${status:0:40}"
IFS= read -r -d '' -N "$length" answer <&3
((${#answer} == length)) || failed 'the answer was cut'
printf '%s' "$answer"
exit 0
