/* The program that a CLI starts for a hook if it cannot send it by HTTP, compiled as hooks are attached:
   hook FILE EVENT WHEN_AWAY WAIT SECONDS WORDS...

   It hands what it reads to the relay on loopback and prints the answer. FILE has the relay's port, the token, and the
   word by which the relay is known. If the relay cannot be reached, it becomes the program of WORDS, which asks the
   daemon itself. Exit code 2 is how a call is blocked; every other failure would let it run. hook.sh is the same for a
   machine without a compiler, and says the same.

   hook --check: exit code 0, by which who compiled it knows that it runs.
*/

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/* Of a file of the relay, of a head, and of a value that is handed on. */
enum { MOST_FILE = 1024, MOST_HEAD = 16384, MOST_VALUE = 100 };

#define STRANGER \
    "Another program has the port of chaperon's hooks, and could let calls of this session run without a review. " \
    "End it, or: chaperon detach, and chaperon attach --by command."

/* Bytes of an answer that are taken: an answer repeats an input, and that has 24 MiB at most. */
#define MOST_ANSWER (64L * 1024 * 1024)

static const char *event;

static void failed(const char *why) {
    if (strcmp(event, "PreToolUse") != 0)
        _exit(0);
    fprintf(stderr, "The hook of chaperon failed (%s), so this call was not run.", why);
    fflush(stderr);
    _exit(2);
}

struct text {
    char *at;
    size_t length, room;
};

/* Read once, at most so much; returns what read(2) returns. */
static ssize_t take(int fd, struct text *text, size_t most) {
    if (text->room - text->length < most + 1) {
        size_t room = text->room * 2 > text->length + most + 1 ? text->room * 2 : text->length + most + 1;
        char *at = realloc(text->at, room);
        if (at == NULL)
            failed("no memory");
        text->at = at;
        text->room = room;
    }
    ssize_t got;
    do
        got = read(fd, text->at + text->length, most);
    while (got < 0 && errno == EINTR);
    if (got > 0)
        text->length += (size_t)got;
    text->at[text->length] = 0;
    return got;
}

static int put(int fd, const char *data, size_t length) {
    while (length > 0) {
        ssize_t done = write(fd, data, length);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return 0;
        data += done;
        length -= (size_t)done;
    }
    return 1;
}

/* The value of a variable as a header can hold it. */
static const char *clean(const char *name, char *to) {
    const char *value = getenv(name);
    size_t length = 0;
    for (; value != NULL && *value && length < MOST_VALUE; value++)
        if (*value >= ' ' && *value <= '~')
            to[length++] = *value;
    to[length] = 0;
    return to;
}

static int connected(int port) {
    struct sockaddr_in relay = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
    relay.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&relay, sizeof relay) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

int main(int count, char **words) {
    if (count == 2 && strcmp(words[1], "--check") == 0)
        return 0;
    event = count > 2 ? words[2] : "PreToolUse";
    if (count < 7)
        failed("its words are missing");
    signal(SIGPIPE, SIG_IGN);
    char **others = words + 6, *lines[3] = {0};

    struct text file = {0}, body = {0}, answer = {0};
    int fd = open(words[1], O_RDONLY | O_CLOEXEC), relay = -1;
    if (fd >= 0 && take(fd, &file, MOST_FILE) > 0) {
        char *rest = file.at;
        for (int line = 0; line < 3 && rest != NULL; line++)
            lines[line] = strsep(&rest, "\n");
    }
    int port = lines[0] != NULL ? atoi(lines[0]) : 0;
    if (lines[2] != NULL && *lines[2] && port > 0 && port < 65536)
        relay = connected(port);
    if (relay < 0) {
        signal(SIGPIPE, SIG_DFL);
        execv(others[0], others);
        failed("neither the relay nor its own program can be reached");
    }

    ssize_t got;
    while ((got = take(STDIN_FILENO, &body, 65536)) > 0)
        ;
    if (got < 0)
        failed("what the CLI sends cannot be read");
    char entry[MOST_VALUE + 1], ci[MOST_VALUE + 1], terminal[MOST_VALUE + 1], *request;
    int length = asprintf(
        &request,
        "POST /chaperon-hooks/%s?away=%s&wait=%s HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer %s\r\n"
        "x-claude-code-entrypoint: %s\r\nx-ci: %s\r\nx-term-program: %s\r\ncontent-length: %zu\r\nconnection: close\r\n\r\n",
        event, words[3], words[4], lines[1], clean("CLAUDE_CODE_ENTRYPOINT", entry), clean("CI", ci),
        clean("TERM_PROGRAM", terminal), body.length);
    if (length < 0 || (request = realloc(request, (size_t)length + body.length + 1)) == NULL)
        failed("no memory");
    memcpy(request + length, body.at, body.length); /* in one piece, so that the relay wakes once */
    struct timeval limit = {.tv_sec = atol(words[5])};
    setsockopt(relay, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (!put(relay, request, (size_t)length + body.length) && errno != EPIPE) /* it may say why it reads no more */
        failed("the relay hung up");

    char *end = NULL;
    while ((end = answer.at != NULL ? strstr(answer.at, "\r\n\r\n") : NULL) == NULL) {
        if (answer.length > MOST_HEAD)
            failed("the relay's answer is none");
        if (take(relay, &answer, MOST_HEAD) <= 0)
            failed("the relay hung up");
    }
    size_t head = (size_t)(end + 4 - answer.at);
    *end = 0;
    long whole = -1;
    int proven = 0;
    char *rest = answer.at, *status = strsep(&rest, "\r"), *line;
    while (rest != NULL && (line = strsep(&rest, "\r")) != NULL) {
        line += *line == '\n';
        if (strncasecmp(line, "content-length: ", 16) == 0 && isdigit((unsigned char)line[16]))
            whole = atol(line + 16);
        if (strncasecmp(line, "chaperon-proof: ", 16) == 0)
            proven = strcmp(line + 16, lines[2]) == 0;
    }
    if (!proven && strcmp(event, "SessionStart") == 0)
        return printf("{\"systemMessage\": \"%s\"}", STRANGER) < 0;
    if (!proven)
        failed("another program has the port of the relay");
    if (strncmp(status, "HTTP/1.1 200 ", 13) != 0 || whole < 0 || whole > MOST_ANSWER)
        failed("the relay refused it");
    while (answer.length < head + (size_t)whole)
        if (take(relay, &answer, 65536) <= 0)
            failed("the answer was cut");
    if (answer.length != head + (size_t)whole)
        failed("the answer is longer than it says");
    if (!put(STDOUT_FILENO, answer.at + head, (size_t)whole))
        failed("the answer cannot be handed on");
    return 0;
}
