"""The gateway: the one process that holds the credential, by which agents reach the model and named hosts.

account         the account that pays for the calls of agents, named by its credential
agent_site      one agent at the gateway: what holds for its requests, and what it used
client          the daemon's side: starts the process, opens a socket for each agent, keeps both there
counts          the use of the model by one agent, kept for a gateway that follows one that was killed
credential      the credential, from where the configuration says, read anew when it changes
door            the socket for daemons, and the word by which the gateway knows them
exchange        one request of an agent, forwarded or refused
git_remotes     remotes of git that agents may fetch from and push to, by a login that stays outside
hosts           which hosts agents may reach, and the addresses they have
login           the login of `claude`: read from the CLI's own file, refreshed, and written as the CLI does
login_locks     the locks around that file, as the CLI takes them
messages        the words between daemon and gateway
outbound        the way to servers outside: a person's own proxy, and whom to trust; pure
program         the process: the control socket, and the sockets of agents
token_endpoint  the token endpoint, by which a login is refreshed
upstream        connections to servers; those to the model are kept and used again
"""
