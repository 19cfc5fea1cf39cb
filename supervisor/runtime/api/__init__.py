"""The API of the socket: its routes, and how requests to them are served.

routes/   the routes, one subject a module
serving/  how requests are served: connections, bounds, the rate, answers
app       the socket's API
lean      FastAPI without what no answer needs
"""
