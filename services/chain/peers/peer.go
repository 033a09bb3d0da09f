package peers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
)

// Reasons for which a connection ends without an offence.
var (
	errSilent   = errors.New("it was silent for too long")
	errSlow     = errors.New("it did not read what was sent")
	errStopping = errors.New("this node is stopping")
)

// answering bounds the requests of one peer that are answered concurrently, and those that this
// node has made to it.
const answering = 64

// peer is one connection to a peer.
type peer struct {
	n       *Network
	id      ID
	address string
	dialled bool // by this node
	conn    *websocket.Conn
	queue   *queue
	since   time.Time
	seen    atomic.Int64 // nanoseconds of Unix time

	ctx   context.Context // its cause is the reason of the end
	end   context.CancelCauseFunc
	tasks sync.WaitGroup
	slots chan struct{} // one for each request that is answered
	calls calls
}

// serve exchanges greetings and then messages, until the connection ends. It returns why.
func (n *Network) serve(ctx context.Context, conn *websocket.Conn, id ID, address string, dialled bool) error {
	p := &peer{
		n: n, id: id, address: address, dialled: dialled, conn: conn, queue: newQueue(&n.load), since: time.Now(),
		slots: make(chan struct{}, answering), calls: calls{waiting: map[uint64]chan answered{}},
	}
	defer conn.CloseNow()
	if err := p.greet(ctx); err != nil {
		n.mu.Lock()
		defer n.mu.Unlock()
		if offence := (*Offence)(nil); errors.As(err, &offence) {
			n.offended(id, n.records[id], 0, err)
		}
		return err
	}
	p.ctx, p.end = context.WithCancelCause(ctx)
	defer p.end(nil)
	p.seen.Store(time.Now().UnixNano())
	if err := n.enter(p); err != nil {
		return err
	}
	p.tasks.Go(p.read)
	p.tasks.Go(p.write)
	<-p.ctx.Done()
	why := context.Cause(p.ctx)
	if ctx.Err() != nil {
		why = errStopping
	}
	p.queue.close()
	conn.CloseNow()
	p.tasks.Wait()
	p.calls.fail()
	n.leave(p, why)
	return why
}

// greet sends this node's greeting and judges the peer's.
func (p *peer) greet(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, p.n.patience)
	defer cancel()
	if err := p.conn.Write(ctx, websocket.MessageBinary, p.n.hello.bytes()); err != nil {
		return err
	}
	p.conn.SetReadLimit(1 << 10)
	kind, first, err := p.conn.Read(ctx)
	if err != nil {
		return err
	}
	if kind != websocket.MessageBinary {
		return &Offence{errText}
	}
	if err := p.n.hello.check(first); err != nil {
		return &Offence{err}
	}
	p.conn.SetReadLimit(int64(p.n.maxMessage) + 16) // the header's bytes
	return nil
}

var errText = errors.New("it sent text: messages are binary")

// send queues a message.
func (p *peer) send(m message) error {
	if len(m.body) > p.n.maxMessage { // which the peer would take for an offence
		return fmt.Errorf("a message has %d bytes, and %d are the most", len(m.body), p.n.maxMessage)
	}
	f := newFrame(m)
	defer f.release()
	return p.queue.put(f)
}

// write sends what is queued, and heartbeats while there is nothing.
func (p *peer) write() {
	idle := time.NewTicker(p.n.patience / 4)
	defer idle.Stop()
	beat := newFrame(message{form: heartbeat})
	defer beat.release()
	slow := time.AfterFunc(p.n.patience, func() { p.end(errSlow) })
	defer slow.Stop()
	send := func(f *frame) {
		slow.Reset(p.n.patience)
		if err := p.conn.Write(p.ctx, websocket.MessageBinary, f.bytes); err != nil {
			p.end(lost(err))
		}
		slow.Stop()
	}
	slow.Stop()
	for {
		select {
		case f := <-p.queue.out:
			send(f)
			p.queue.sent(f)
			idle.Reset(p.n.patience / 4)
		case <-idle.C:
			send(beat)
		case <-p.ctx.Done():
			return
		}
	}
}

// read handles messages until the connection ends.
func (p *peer) read() {
	silent := time.AfterFunc(p.n.patience, func() { p.end(errSilent) })
	defer silent.Stop()
	for {
		silent.Reset(p.n.patience)
		b, err := p.receive()
		silent.Stop() // while the message is handled, none is read
		if err == nil {
			err = p.handle(b)
		}
		if err != nil {
			p.end(err)
			return
		}
	}
}

// receive reads one message. While there is none it holds no buffer.
func (p *peer) receive() (*bytes.Buffer, error) {
	kind, r, err := p.conn.Reader(p.ctx)
	if err != nil {
		return nil, lost(err)
	}
	if kind != websocket.MessageBinary {
		return nil, &Offence{errText}
	}
	b := p.n.buffers.Get().(*bytes.Buffer)
	if _, err := b.ReadFrom(r); err != nil {
		p.free(b)
		if errors.Is(err, websocket.ErrMessageTooBig) {
			return nil, Offencef("a message has more than %d bytes", p.n.maxMessage)
		}
		return nil, lost(err)
	}
	p.seen.Store(time.Now().UnixNano())
	return b, nil
}

func (p *peer) free(b *bytes.Buffer) {
	if b.Cap() <= keptBytes {
		b.Reset()
		p.n.buffers.Put(b)
	}
}

// lost says in one way that a connection broke.
func lost(err error) error {
	if code := websocket.CloseStatus(err); code == websocket.StatusProtocolError || code == websocket.StatusMessageTooBig {
		return fmt.Errorf("the peer ended the connection: %w", err)
	}
	return fmt.Errorf("the connection was lost: %w", err)
}

// handle handles one message, and gives its buffer back.
func (p *peer) handle(b *bytes.Buffer) error {
	m, err := parse(b.Bytes())
	if err != nil {
		p.free(b)
		return &Offence{err}
	}
	if m.form == request {
		return p.serveRequest(m, b)
	}
	defer p.free(b)
	switch m.form {
	case note:
		do := p.n.notes[m.kind]
		if do == nil {
			return Offencef("a note of kind %d, which this node does not know", m.kind)
		}
		return do(p.ctx, p.id, m.body)
	case answer, refusal:
		p.calls.answer(m)
	case hello:
		return Offencef("a second greeting")
	}
	return nil
}
