package impair

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// kernelBytes is the size of the kernel's buffers: what an end sends should wait with it, and not
// between it and the proxy. With less than half a packet of Linux's loopback (64 KiB) bytes pass
// only five times a second.
const kernelBytes = 32 << 10

// carry passes the bytes of a connection on, until both ends have ended it or one has failed.
func (o Options) carry(ctx context.Context, n uint64, client, server net.Conn) {
	start := time.Now()
	work, cancel := context.WithCancel(ctx)
	defer cancel()
	up := newLane(client, server, newSchedule(o, start, 2*n))
	down := newLane(server, client, newSchedule(o, start, 2*n+1))
	var tasks sync.WaitGroup
	for _, l := range []*lane{up, down} {
		limitKernel(l.from)
		tasks.Go(func() { l.read(work) })
		tasks.Go(func() {
			if !l.write(work) {
				cancel() // the connection has failed
			}
		})
	}
	var resets <-chan time.Time
	if o.Reset > 0 {
		timer := time.NewTimer(o.Reset)
		defer timer.Stop()
		resets = timer.C
	}
	over := make(chan struct{})
	go func() {
		tasks.Wait()
		close(over)
	}()
	select {
	case <-over:
		if work.Err() == nil {
			return // both ends have ended it
		}
		resetBoth(client, server)
	case <-resets:
		resetBoth(client, server)
	case <-work.Done():
		if ctx.Err() == nil {
			resetBoth(client, server)
		}
	}
	cancel()
	for _, l := range []*lane{up, down} {
		l.from.Close()
		l.queue.close()
	}
	<-over
}

func limitKernel(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		tcp.SetReadBuffer(kernelBytes)
		tcp.SetWriteBuffer(kernelBytes)
	}
}

// resetBoth has the ends receive RST.
func resetBoth(conns ...net.Conn) {
	for _, c := range conns {
		if tcp, ok := c.(*net.TCPConn); ok {
			tcp.SetLinger(0)
		}
		c.Close()
	}
}

// lane is one direction of a connection.
type lane struct {
	from, to net.Conn
	schedule schedule
	queue    *queue
}

func newLane(from, to net.Conn, s schedule) *lane {
	return &lane{from: from, to: to, schedule: s, queue: newQueue()}
}

// read fills the queue until the sender ends. The rate and the stall are kept here, too, so that
// the sender feels them.
func (l *lane) read(ctx context.Context) {
	buffer := make([]byte, l.schedule.largest())
	for sleepUntil(ctx, l.schedule.opens(time.Now())) {
		n, err := l.from.Read(buffer)
		if n > 0 {
			entered, due := l.schedule.next(time.Now(), n)
			if !sleepUntil(ctx, entered) || !l.queue.put(piece{bytes: append([]byte(nil), buffer[:n]...), due: due}) {
				return
			}
		}
		if err != nil {
			_, due := l.schedule.next(time.Now(), 0)
			l.queue.put(piece{due: due, end: err})
			return
		}
	}
}

// write empties the queue until the sender's end, which it passes on; false: an end has failed.
func (l *lane) write(ctx context.Context) bool {
	for {
		p, ok := l.queue.take()
		if !ok || !sleepUntil(ctx, p.due) || !sleepUntil(ctx, l.schedule.opens(time.Now())) {
			return ctx.Err() != nil
		}
		if p.end != nil {
			return errors.Is(p.end, io.EOF) && closeWrite(l.to)
		}
		if _, err := l.to.Write(p.bytes); err != nil {
			return false
		}
	}
}

func closeWrite(c net.Conn) bool {
	half, ok := c.(interface{ CloseWrite() error })
	return ok && half.CloseWrite() == nil
}

// sleepUntil reports whether the context lasts until then.
func sleepUntil(ctx context.Context, then time.Time) bool {
	left := time.Until(then)
	if left <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// schedule says when the pieces of a direction pass.
type schedule struct {
	delay, jitter time.Duration
	loss          float64
	rate          int64
	stall         Stall
	start         time.Time
	random        *rand.Rand
	free, last    time.Time // the rate permits the next piece; the last one arrives
}

func newSchedule(o Options, start time.Time, stream uint64) schedule {
	return schedule{
		delay: o.Delay, jitter: o.Jitter, loss: o.Loss, rate: o.Rate, stall: o.Stall, start: start,
		random: rand.New(rand.NewPCG(o.Seed, stream)),
	}
}

// largest is the size of a piece, in bytes: with a cap, what passes in 10 ms, but where packets are lost
// at least one, since each piece is one or more.
func (s *schedule) largest() int64 {
	const most = 16 << 10
	if s.rate == 0 {
		return most
	}
	least := int64(1)
	if s.loss > 0 {
		least = packetBytes
	}
	return min(max(s.rate/100, least), most)
}

// next says when a piece of n bytes has entered the network, at its rate, and when it arrives.
func (s *schedule) next(now time.Time, n int) (entered, due time.Time) {
	entered = now
	if s.rate > 0 {
		if entered.Before(s.free) {
			entered = s.free
		}
		entered = entered.Add(time.Duration(float64(n) / float64(s.rate) * float64(time.Second)))
		s.free = entered
	}
	due = entered.Add(s.delay)
	if s.jitter > 0 {
		due = due.Add(time.Duration(s.random.Int64N(2*int64(s.jitter)+1)) - s.jitter)
	}
	due = due.Add(s.lost(n))
	if due.Before(s.last) {
		due = s.last
	}
	s.last = due
	return entered, due
}

// What a sender's TCP does about a lost packet. Its round trip is that of the delay, without jitter.
const (
	packetBytes = 1448 // in a packet of Ethernet, behind headers and time stamps
	// A probe is sent after two round trips and 2 ms, as Linux does (RFC 8985, 7.2). A later packet's
	// acknowledgement may reveal the loss before that; the proxy does not know what will follow.
	probeAfter = 2 * time.Millisecond
	// Then it waits for a round trip and 200 ms, Linux's least timeout, and twice that for each
	// further loss (RFC 6298, 5.5) up to two minutes.
	leastTimeout = 200 * time.Millisecond
	mostTimeout  = 2 * time.Minute
	mostSent     = 15 // times that a packet is sent again before it passes: Linux would end the connection
)

// lost says how much later n bytes arrive because packets of them are lost: as long as the packet
// that is lost most often takes. All are sent at one time, so the others arrive before it.
func (s *schedule) lost(n int) (late time.Duration) {
	if s.loss == 0 {
		return 0
	}
	for ; n > 0; n -= packetBytes {
		waited, next := time.Duration(0), 4*s.delay+probeAfter
		for sent := 0; sent < mostSent && s.random.Float64() < s.loss; sent++ {
			waited += next
			if next = 2 * next; sent == 0 {
				next = 2*s.delay + leastTimeout
			}
			next = min(next, mostTimeout)
		}
		late = max(late, waited)
	}
	return late
}

// opens is when the stall ends that is at a time, or that time.
func (s *schedule) opens(now time.Time) time.Time {
	if since := now.Sub(s.start); since >= s.stall.At && since < s.stall.At+s.stall.For {
		return s.start.Add(s.stall.At + s.stall.For)
	}
	return now
}
