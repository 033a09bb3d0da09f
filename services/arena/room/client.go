package room

import (
	"sync"
	"sync/atomic"
	"time"

	"dyno/services/arena/game"
	"dyno/services/arena/socket"
	"dyno/services/arena/wire"
)

const (
	maxQueue  = 48 << 10         // bytes of frames that wait for a client, beside the state
	writeTime = 60 * time.Second // for the kernel to take what a goroutine writes

	// A client says which state it has (Input.ack_tick). When it is this far behind, it receives a
	// state twice a second: the kernel would hold seconds of old ones.
	maxBehind = 1 * game.Hz
	sparse    = game.Hz / 2
)

// Client is what a room writes to a socket.
type Client struct {
	socket socket.Socket
	bits   bool
	config *Config
	stats  *Stats

	Access Access // set before it joins; nil: none is needed. Resume sets it if it is nil

	player   *player       // its body, without an id for a spectator; set by Join and Resume
	acked    atomic.Uint32 // the tick of the newest state that it says it has
	welcomed atomic.Uint32 // the tick of its Welcome
	unproven atomic.Bool   // it is not known to have the token of its Welcome

	mu           sync.Mutex
	queue        []byte // frames that wait
	ends         []int  // of them
	under        []byte // the rest of a write that the kernel has not taken, or what the writer writes
	underEnds    []int
	ended        bool
	base, before uint32 // ticks of the last states that it was written; 0: none
	near         *near  // what it sees of them, where that is not all
	reader       Reader // guarded by the room; nil: it has a goroutine of its own

	wake   chan struct{} // of the writer; nil: the room writes itself
	writer sync.WaitGroup
}

// NewClient makes the client of a socket. The caller ends it.
func NewClient(s socket.Socket, c Config, stats *Stats) *Client {
	out := &Client{socket: s, bits: s.Subprotocol() == wire.Bits, config: &c, stats: stats}
	_, err := s.TryWrite(nil)
	if c.Write != "direct" || err != nil {
		out.wake = make(chan struct{}, 1)
		out.writer.Go(out.write)
	}
	return out
}

// Name is that of the client's player.
func (c *Client) Name() string { return c.player.name }

// Kick ends the connection; its reader finds that.
func (c *Client) Kick() { c.socket.CloseNow() }

// Control adds a frame, such as a pong, and writes it.
func (c *Client) Control(frame []byte) {
	c.mu.Lock()
	c.add(func(to []byte) []byte { return append(to, frame...) })
	c.mu.Unlock()
	c.flush()
}

// Send adds a message and writes it, if nothing is under way.
func (c *Client) Send(f *wire.ServerFrame) {
	c.event(f)
	c.flush()
}

// event adds a message, unless too many wait.
func (c *Client) event(f *wire.ServerFrame) {
	c.message(marshal(f))
}

func marshal(f *wire.ServerFrame) []byte {
	message, err := f.MarshalVT()
	if err != nil {
		panic(err) // it has no case in which it fails
	}
	return message
}

func (c *Client) message(message []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(func(to []byte) []byte { return socket.Append(to, c.prefix(), message) })
}

var framed = []byte{0} // before a ServerFrame, in the compact subprotocol

func (c *Client) prefix() []byte {
	if c.bits {
		return framed
	}
	return nil
}

func (c *Client) add(frame func(to []byte) []byte) {
	if c.ended || len(c.queue)+len(c.under) > maxQueue {
		c.stats.Dropped.Add(1)
		return
	}
	c.queue = frame(c.queue)
	c.mark()
}

// mark notes the end of a frame, for the writer.
func (c *Client) mark() {
	if c.wake != nil {
		c.ends = append(c.ends, len(c.queue))
	}
}

// flush writes what waits, if nothing is under way.
func (c *Client) flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.idle() || len(c.queue) == 0 {
		return
	}
	if c.wake != nil {
		c.hand()
		return
	}
	c.try(c.queue)
	c.queue = emptied(c.queue)
}

// show writes what waits and the newest state.
func (c *Client) show(v *view, acked uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.idle() {
		if !c.ended {
			c.stats.Conflated.Add(1)
		}
		return
	}
	if has := c.acked.Load(); has > 0 && v.now.Tick-has > maxBehind && v.now.Tick-c.base < sparse {
		c.stats.Conflated.Add(1)
		return
	}
	if c.wake != nil {
		c.queue = v.append(c.queue, c, acked)
		c.mark()
		c.hand()
	} else {
		v.frames = v.append(append(v.frames[:0], c.queue...), c, acked)
		c.queue = emptied(c.queue)
		c.try(v.frames)
	}
	c.base, c.before = v.now.Tick, c.base
}

// small is the capacity of a buffer that a client keeps, in bytes.
const small = 512

func emptied(b []byte) []byte {
	if cap(b) > small {
		return nil
	}
	return b[:0]
}

// idle reports whether nothing is under way, after trying to end what is.
func (c *Client) idle() bool {
	if c.ended || len(c.under) == 0 {
		return !c.ended
	}
	if c.wake != nil {
		return false
	}
	n, err := c.socket.TryWrite(c.under)
	c.wrote(err)
	if c.under = c.under[n:]; len(c.under) == 0 {
		c.under = nil
	}
	return len(c.under) == 0 && !c.ended
}

// hand gives what waits to the writer.
func (c *Client) hand() {
	c.stats.Written.Add(int64(len(c.queue)))
	c.under, c.queue = c.queue, c.under[:0]
	c.underEnds, c.ends = c.ends, c.underEnds[:0]
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// try writes what the kernel takes of frames, and keeps the rest.
func (c *Client) try(frames []byte) {
	c.stats.Written.Add(int64(len(frames)))
	n, err := c.socket.TryWrite(frames)
	c.wrote(err)
	c.under = append(emptied(c.under), frames[n:]...)
}

// wrote takes the error of a write: the reader finds that the connection has ended.
func (c *Client) wrote(err error) {
	if err != nil {
		c.ended = true
		c.socket.CloseNow()
	}
}

// write is the goroutine of a client that the room does not write to itself.
func (c *Client) write() {
	for range c.wake {
		for {
			c.mu.Lock()
			under, ends := c.under, c.underEnds
			if len(under) == 0 && len(c.queue) > 0 && !c.ended {
				c.hand() // what came meanwhile
				under, ends = c.under, c.underEnds
			}
			ended := c.ended
			c.mu.Unlock()
			if len(under) == 0 || ended {
				break
			}
			err := c.put(under, ends)
			c.mu.Lock()
			c.wrote(err)
			c.under, c.underEnds = c.under[:0], c.underEnds[:0]
			c.mu.Unlock()
		}
	}
}

// put writes frames, each in a write of its own or all together.
func (c *Client) put(frames []byte, ends []int) error {
	if c.config.Write != "each" {
		return c.socket.Write(frames, ends, writeTime)
	}
	begin := 0
	for _, end := range ends {
		if err := c.socket.Write(frames[begin:end], []int{end - begin}, writeTime); err != nil {
			return err
		}
		begin = end
	}
	return nil
}

const lastTime = 2 * time.Second // for the last words to be taken

// End writes what waits and a last message, if there is one, and closes the socket with a code.
func (c *Client) End(last *wire.ServerFrame, code int, reason string) {
	if last != nil {
		c.event(last)
	}
	c.mu.Lock()
	already := c.ended
	c.ended = true
	c.mu.Unlock()
	if code == 0 || already {
		c.socket.CloseNow()
	}
	if c.wake != nil {
		close(c.wake)
		patience := time.AfterFunc(lastTime, c.socket.CloseNow)
		c.writer.Wait()
		patience.Stop()
	}
	if code != 0 && !already {
		if len(c.under) == 0 || c.socket.Write(c.under, c.underEnds, lastTime) == nil {
			if len(c.queue) > 0 && c.socket.Write(c.queue, c.ends, lastTime) != nil {
				code = 0
			}
		} else {
			code = 0
		}
	}
	c.socket.Close(code, reason)
	c.mu.Lock()
	c.under, c.queue = nil, nil
	c.mu.Unlock()
}

// Queued is the bytes that wait for the client.
func (c *Client) Queued() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.queue) + len(c.under)
}
