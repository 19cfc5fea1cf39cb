/* The last step into a sandbox: closes the process in for good, and then becomes the program.

       entry [OPTION...] -- PROGRAM [ARGUMENT...]
       entry COMMAND                                   as: entry --scoped -- /bin/bash -c COMMAND
       entry                                           prints the digest of the source that it was compiled from

   `entry.py` is the same program for machines on which none was compiled, and says what each option means. That one
   takes 25 ms to start, and this one less than one (two cores, quiet). `hatch_build.py` compiles it. */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CREATE_RULESET = 444, ADD_RULE = 445, RESTRICT_SELF = 446 };
enum { SCOPE_ABSTRACT_SOCKETS = 1, SCOPE_SIGNALS = 2, BENEATH = 1, VERSION = 1 };
enum { CAPABILITIES = 64, PROXY_PORT = 3128, LISTENING = 3, NOT_STARTED = 126, MOST_INSTRUCTIONS = 4096 };

/* Accesses to files, of linux/landlock.h. */
#define EXECUTE (1ULL << 0)
#define WRITE_FILE (1ULL << 1)
#define READ_FILE (1ULL << 2)
#define READ_DIR (1ULL << 3)
#define REFER (1ULL << 13)
#define TRUNCATE (1ULL << 14)
#define IOCTL_DEVICE (1ULL << 15)
#define OF_FILES (EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEVICE)

struct ruleset { uint64_t files, network, scopes; };
struct rule { uint64_t accesses; int32_t fd; } __attribute__((packed));
struct instruction { uint16_t code; uint8_t yes, no; uint32_t constant; };
struct filter { unsigned short count; struct instruction *first; };

#ifndef SOURCE
#define SOURCE ""
#endif

static const char *program = "the program";

static void fail(const char *why) {
    fprintf(stderr, "chaperon: the sandbox could not be closed (%s), so %s was not started.\n", why, program);
    exit(NOT_STARTED);
}

static long must(long answer) {
    if (answer < 0) fail(strerror(errno));
    return answer;
}

static uint64_t handled(void) {
    long version = syscall(CREATE_RULESET, NULL, 0, VERSION);
    return (REFER - 1) | (version >= 2 ? REFER : 0) | (version >= 3 ? TRUNCATE : 0) | (version >= 5 ? IOCTL_DEVICE : 0);
}

/* A path that is not there needs no rule. */
static void allow(int rules, const char *path, uint64_t accesses) {
    struct stat about;
    int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == EACCES)) return;
    must(fd);
    must(fstat(fd, &about));
    struct rule rule = {S_ISDIR(about.st_mode) ? accesses : accesses & OF_FILES, fd};
    must(syscall(ADD_RULE, rules, BENEATH, &rule, 0));
    close(fd);
}

static void bound_processes(const char *most) {
    struct rlimit limit;
    rlim_t wanted = strtoul(most, NULL, 10);
    must(getrlimit(RLIMIT_NPROC, &limit));
    limit.rlim_max = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    limit.rlim_cur = limit.rlim_max;
    must(setrlimit(RLIMIT_NPROC, &limit));
}

static void filter_calls(const char *text) {
    static struct instruction code[MOST_INSTRUCTIONS];
    uint8_t *bytes = (uint8_t *)code;
    size_t count = strlen(text) / 2;
    if (!count || count > sizeof code || count % sizeof *code || strlen(text) % 2) fail("the filter is damaged");
    for (size_t at = 0; at < count; at++)
        if (sscanf(text + 2 * at, "%2hhx", bytes + at) != 1) fail("the filter is damaged");
    struct filter filter = {count / sizeof *code, code};
    must(prctl(PR_SET_SECCOMP, 2, &filter, 0, 0));
}

/* Has a port of the loopback taken, and leads it in a process of its own, which may take its time to start. */
static void begin_proxy(char **words) {
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons(PROXY_PORT), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int listening = must(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), yes = 1;
    must(setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes));
    must(bind(listening, (struct sockaddr *)&here, sizeof here));
    must(listen(listening, 128));
    if (must(fork())) {
        close(listening);
        return;
    }
    if (listening == LISTENING) must(fcntl(listening, F_SETFD, 0));
    else must(dup2(listening, LISTENING));
    execv(words[0], (char *[]){words[0], "-I", "-S", "-E", words[1], "--lead", words[2], NULL});
    fail(strerror(errno));
}

int main(int count, char **words) {
    if (count < 2) return puts(SOURCE) < 0;
    char *shell[] = {"entry", "--scoped", "--", "/bin/bash", "-c", words[1], NULL};
    if (count == 2) count = 6, words = shell;
    int scoped = 0, files = 0, at = 1, rules = -1;
    char *filter = NULL, *processes = NULL, **proxy = NULL, ***paths = calloc(count, sizeof *paths);
    size_t named = 0;
    if (paths == NULL) fail(strerror(errno));
    for (; at < count && strcmp(words[at], "--"); at++) {
        char *option = words[at];
        int left = count - at - 1;
        if (!strcmp(option, "--scoped")) scoped = 1;
        else if (!strcmp(option, "--files")) files = 1;
        else if (!strcmp(option, "--filter") && left >= 1) filter = words[++at];
        else if (!strcmp(option, "--processes") && left >= 1) processes = words[++at];
        else if ((!strcmp(option, "--read") || !strcmp(option, "--write")) && left >= 1) paths[named++] = words + at++;
        else if (!strcmp(option, "--proxy") && left >= 3) proxy = words + at + 1, at += 3;
        else fail("an option is not known");
    }
    if (at + 1 >= count) fail("no program is named");
    char **command = words + at + 1;
    program = command[0];
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); /* refused to all but root, who alone has some */
    for (int number = 0; number < CAPABILITIES && !prctl(PR_CAPBSET_DROP, number, 0, 0, 0); number++);
    if (processes) bound_processes(processes);
    must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    if (files || scoped) {
        struct ruleset asked = {files ? handled() : 0, 0, scoped ? SCOPE_ABSTRACT_SOCKETS | SCOPE_SIGNALS : 0};
        rules = must(syscall(CREATE_RULESET, &asked, sizeof asked, 0));
        for (size_t each = 0; files && each < named; each++) {
            int writes = !strcmp(paths[each][0], "--write");
            allow(rules, paths[each][1], writes ? asked.files : asked.files & (EXECUTE | READ_FILE | READ_DIR));
        }
        must(syscall(RESTRICT_SELF, rules, 0));
        close(rules);
    }
    if (filter) filter_calls(filter);
    if (proxy) begin_proxy(proxy);
    execvp(command[0], command);
    fail(strerror(errno));
}
