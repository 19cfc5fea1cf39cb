"""The process of `host.apart`, to be forked."""

from host.apart import serve

if __name__ == "__main__":
    serve()
