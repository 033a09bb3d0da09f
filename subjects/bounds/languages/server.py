# The servers of package languages that run in Python, from version 3.7. Arguments: name, address, parameters as JSON,
# and the line to print with the address in it. server.js is the same for node.
import http.client, json, os, signal, sys, threading, time
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer

name, listen, parameters, line = sys.argv[1:]
p = json.loads(parameters)


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def compute(us):
    until = time.perf_counter() + us / 1e6
    while time.perf_counter() < until:
        fib(5)


own = threading.local()  # connections of a thread
one = threading.Lock()
places = threading.Semaphore(p.get('places', 1))


def call(connection):
    connection.request('GET', '/price?item=lamp')
    return b'our offer: ' + connection.getresponse().read()


def call_kept():
    if not hasattr(own, 'connection'):
        own.connection = http.client.HTTPConnection(p['backend'])
    return call(own.connection)


def call_new():
    connection = http.client.HTTPConnection(p['backend'])
    try:
        return call(connection)
    finally:
        connection.close()


def locked():
    with one:
        time.sleep(p['hold_us'] / 1e6)
    return b'had the lock\n'


def pooled():
    with places:
        time.sleep(p['hold_us'] / 1e6)
    return b'had a place\n'


def mixed():
    with one:
        compute(p['compute_us'])
        time.sleep(p['block_us'] / 1e6)
    return b'computed and slept\n'


def slow():
    time.sleep(p['block_us'] / 1e6)
    return b'slept\n'


serve = {
    'python-compute': lambda: b'%d\n' % fib(p['fib']),
    'python-pool': pooled,
    'python-lock': locked,
    'python-one-by-one': slow,
    'python-call': call_kept,
    'python-call-anew': call_new,
    'python-mixed': mixed,
}[name]


class Handler(BaseHTTPRequestHandler):
    # A server of one thread would serve the first connection until it ends.
    protocol_version = 'HTTP/1.0' if name == 'python-one-by-one' else 'HTTP/1.1'
    disable_nagle_algorithm = True

    def do_GET(self):
        text = serve()
        self.send_response(200)
        self.send_header('Content-Length', str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *args):
        pass


class Server(HTTPServer if name == 'python-one-by-one' else ThreadingHTTPServer):
    request_queue_size = p.get('backlog', 128)
    daemon_threads = True

    def handle_error(self, request, client):
        pass  # the client has gone


for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, lambda *_: os._exit(0))
host, _, port = listen.rpartition(':')
server = Server((host, int(port)), Handler)
print(line.replace('ADDRESS', '%s:%d' % server.server_address[:2]), flush=True)
server.serve_forever()
