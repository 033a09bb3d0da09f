package httploop

import (
	"math"

	"dyno/parts/lameduck"
)

// drain accepts the waiting connections and makes each loop end. It is called on the first loop.
func (l *loop) drain() {
	lameduck.SealSocket(l.accept.fd)
	l.accept.sealed = l.now
	l.server.shakes.hasten(l.server.options.lull)
	for _, each := range l.server.loops {
		each.post(each.end)
	}
	l.acceptLast()
}

// acceptLast accepts the connections that wait at a sealed socket, and then closes it. Each tick
// calls it again until clients have had time to complete the handshakes that the kernel had begun,
// and while no file descriptors are available: connections that end free some.
func (l *loop) acceptLast() {
	l.accept.again()
	if l.accept.some(math.MaxInt); !l.accept.paused && l.now.Sub(l.accept.sealed) >= lameduck.Handshake {
		l.seal()
	}
}

func (l *loop) seal() {
	l.accept.close()
	l.accept = nil
	for _, each := range l.server.loops { // after the connections that were posted to it
		each.post(func() { each.last = true })
	}
}

// end gives connections without a request in progress a last moment to send one.
func (l *loop) end() {
	l.draining = true
	for _, c := range l.conns {
		if c != nil {
			c.settle()
		}
	}
}

// cutOff closes all connections and returns how many requests were in progress.
func (l *loop) cutOff() (cut int) {
	l.cut = true
	if l.accept != nil {
		l.seal()
	}
	for _, c := range l.conns {
		if c != nil && !c.dead {
			cut += c.inFlight
			c.abort()
		}
	}
	return cut
}
