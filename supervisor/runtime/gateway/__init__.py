"""The gateway: the one process that holds the credential, by which agents reach the model and named hosts.

account      the account that pays for the calls of agents, named by its credential
client       the daemon's side: starts the process, opens a socket for each agent, keeps both there
credential   the credential, from where the configuration says, read anew when it changes
exchange     one request of an agent, forwarded or refused
git_remotes  remotes of git that agents may fetch from and push to, by a login that stays outside
hosts        which hosts agents may reach, and the addresses they have
messages     the words between daemon and gateway
program      the process: the control socket, and the sockets of agents
"""
