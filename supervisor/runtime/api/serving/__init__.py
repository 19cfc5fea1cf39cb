"""How requests are served: connections, bounds of bodies, the rate, answers, and shared work.

agent_rows    the list of all agents as JSON, in parts between which others get their turn
answer_types  types of answers whose description is long, made once for all routes
bodies        bounds of requests' bodies
json_edge     JSON at the API's edge
server        the API's server on a Unix socket, for peers that `supervisor.runtime.socket.admission` admits
together      shared work: one run for all callers that requested it before it began
turnstile     the rate of requests
"""
