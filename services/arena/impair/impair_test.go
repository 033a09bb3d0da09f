package impair

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ms = time.Millisecond

// inside carries connection n in a bubble, where time passes when all wait. It hands the far ends
// to do, and ends the connection when do returns.
func inside(t *testing.T, o Options, n uint64, do func(t *testing.T, client, server net.Conn)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		client, near := net.Pipe()
		server, far := net.Pipe()
		ctx, cancel := context.WithCancel(t.Context())
		var carrying sync.WaitGroup
		carrying.Go(func() { o.carry(ctx, n, near, far) })
		do(t, client, server)
		cancel()
		carrying.Wait()
	})
}

// arrivals sends n numbered bytes, one each interval, and returns how long after the start each
// arrives.
func arrivals(t *testing.T, from, to net.Conn, n int, interval time.Duration) (times []time.Duration) {
	t.Helper()
	start := time.Now()
	var sending sync.WaitGroup
	sending.Go(func() {
		for i := range n {
			from.Write([]byte{byte(i)})
			time.Sleep(interval)
		}
	})
	b := make([]byte, 1)
	for i := range n {
		if _, err := io.ReadFull(to, b); err != nil || b[0] != byte(i) {
			t.Errorf("byte %d is %d, %v", i, b[0], err)
			return nil
		}
		times = append(times, time.Since(start))
	}
	sending.Wait()
	return times
}

func TestDelaysEachWay(t *testing.T) {
	inside(t, Options{Delay: 75 * ms}, 0, func(t *testing.T, client, server net.Conn) {
		up := arrivals(t, client, server, 3, 100*ms)
		down := arrivals(t, server, client, 3, 10*ms)
		if want := []time.Duration{75 * ms, 175 * ms, 275 * ms}; !slices.Equal(up, want) {
			t.Errorf("up: %v, want %v", up, want)
		}
		if want := []time.Duration{75 * ms, 85 * ms, 95 * ms}; !slices.Equal(down, want) {
			t.Errorf("down: %v, want %v", down, want)
		}
	})
}

// Delays are within the jitter, use all of it, keep the order, and are drawn from seed and number.
func TestJitters(t *testing.T) {
	run := func(seed, n uint64, interval time.Duration) (times []time.Duration) {
		inside(t, Options{Delay: 100 * ms, Jitter: 30 * ms, Seed: seed}, n, func(t *testing.T, client, server net.Conn) {
			times = arrivals(t, client, server, 200, interval)
		})
		return times
	}
	apart := run(1, 0, 100*ms) // none waits for the one before
	least, most := time.Hour, time.Duration(0)
	for i, at := range apart {
		late := at - time.Duration(i)*100*ms
		least, most = min(least, late), max(most, late)
	}
	if least < 70*ms || least > 75*ms || most > 130*ms || most < 125*ms {
		t.Errorf("delays are between %v and %v", least, most)
	}
	if !slices.Equal(apart, run(1, 0, 100*ms)) {
		t.Error("the same seed has other delays")
	}
	if slices.Equal(apart, run(2, 0, 100*ms)) || slices.Equal(apart, run(1, 1, 100*ms)) {
		t.Error("another seed, or another connection, has the same delays")
	}
	if close := run(1, 0, ms); !slices.IsSorted(close) {
		t.Errorf("the order is not kept: %v", close)
	}
}

// A lost packet arrives when TCP has sent it again, what follows waits for it, and nothing is missing.
func TestLoses(t *testing.T) {
	const n = 2000
	run := func(loss float64, seed uint64, interval time.Duration) (late []time.Duration) {
		inside(t, Options{Delay: 50 * ms, Loss: loss, Seed: seed}, 0, func(t *testing.T, client, server net.Conn) {
			late = arrivals(t, client, server, n, interval)
		})
		for i := range late {
			late[i] -= time.Duration(i)*interval + 50*ms
		}
		return late
	}
	apart := run(0.1, 1, 10*time.Second) // none waits for the one before
	lost := map[time.Duration]int{}
	for _, by := range apart {
		lost[by]++
	}
	// The probe after two round trips of 100 ms and 2 ms, the timeout after 300 ms, and after 600 ms.
	once, twice, thrice := 202*ms, 502*ms, 1102*ms
	if all := n - lost[0]; all < 150 || all > 250 {
		t.Errorf("%d of %d packets were lost, want about a tenth", all, n)
	}
	if lost[once] < 130 || lost[twice] < 5 || lost[twice] > 40 || lost[0]+lost[once]+lost[twice]+lost[thrice] < n-3 {
		t.Errorf("packets by how late they were: %v", lost)
	}
	if !slices.Equal(apart, run(0.1, 1, 10*time.Second)) || slices.Equal(apart, run(0.1, 2, 10*time.Second)) {
		t.Error("the losses do not follow from the seed alone")
	}
	blocked := 0
	for _, by := range run(0.02, 1, 10*ms) {
		if by > 0 && by != once && by != twice && by != thrice {
			blocked++ // waits for a lost one, in whose place it arrives
		}
	}
	if blocked < n/10 {
		t.Errorf("%d packets waited behind lost ones", blocked)
	}
	if none := run(0, 1, 10*ms); slices.Max(none) != 0 {
		t.Errorf("without losses a packet was %v late", slices.Max(none))
	}
}

// Of many packets that are sent at one time, the one that is lost most often says when all are there;
// a packet that is always lost passes in the end.
func TestLosesOfManyPackets(t *testing.T) {
	s := newSchedule(Options{Loss: 0.01, Seed: 1}, time.Time{}, 0)
	late := 0
	for range 1000 {
		if s.lost(100*packetBytes) > 0 {
			late++
		}
	}
	if late < 580 || late > 690 { // 1 - 0.99^100 of them
		t.Errorf("%d of 1000 writes of 100 packets were late", late)
	}
	s.loss = 1
	if by := s.lost(1); by < time.Minute || by > mostSent*mostTimeout {
		t.Errorf("a packet that is always lost is %v late", by)
	}
}

// A cap lets 10,000 bytes pass in a second, evenly, and holds the sender up.
func TestCapsTheRate(t *testing.T) {
	inside(t, Options{Delay: 50 * ms, Rate: 10_000}, 0, func(t *testing.T, client, server net.Conn) {
		start := time.Now()
		var sending sync.WaitGroup
		sending.Go(func() {
			client.Write(make([]byte, 10_000))
			if took := time.Since(start); took < 950*ms {
				t.Errorf("the sender was held up for %v", took)
			}
		})
		b := make([]byte, 1000)
		for i := range 10 {
			io.ReadFull(server, b)
			if at, want := time.Since(start), time.Duration(i+1)*100*ms+50*ms; at < want || at > want+10*ms {
				t.Errorf("%d bytes have passed after %v, want %v", (i+1)*1000, at, want)
			}
		}
		sending.Wait()
	})
}

// In a stall nothing passes either way. What was on its way passes when it is over, and the sender,
// which is held up meanwhile, goes on.
func TestStalls(t *testing.T) {
	inside(t, Options{Delay: 250 * ms, Stall: Stall{For: 5 * time.Second, At: 10 * time.Second}}, 0, func(t *testing.T, client, server net.Conn) {
		var both sync.WaitGroup
		for _, lane := range [][2]net.Conn{{client, server}, {server, client}} {
			both.Go(func() {
				for i, at := range arrivals(t, lane[0], lane[1], 200, 100*ms) {
					want := time.Duration(i)*100*ms + 250*ms
					switch {
					case i > 100: // waited with the sender
						want = 15*time.Second + time.Duration(i-101)*100*ms + 250*ms
					case want >= 10*time.Second:
						want = 15 * time.Second
					}
					if at != want {
						t.Errorf("byte %d arrives after %v, want %v", i, at, want)
					}
				}
			})
		}
		both.Wait()
	})
}

// A receiver that does not read holds the sender up: the proxy takes no more than its buffers.
func TestBackpressure(t *testing.T) {
	for _, tt := range []struct {
		delay       time.Duration
		least, most int
	}{{0, maxDue, maxDue + 3*16<<10}, {time.Second, maxBytes, maxBytes + 2*16<<10}} {
		inside(t, Options{Delay: tt.delay}, 0, func(t *testing.T, client, server net.Conn) {
			sent := 0
			var sending sync.WaitGroup
			sending.Go(func() {
				for range 3000 {
					n, _ := client.Write(make([]byte, 1000))
					sent += n
				}
			})
			synctest.Wait()
			if sent < tt.least || sent > tt.most {
				t.Errorf("with a delay of %v the proxy has taken %d bytes", tt.delay, sent)
			}
			if n, err := io.CopyN(io.Discard, server, 3_000_000); err != nil {
				t.Errorf("%d bytes have arrived: %v", n, err)
			}
			sending.Wait()
		})
	}
}

func TestResetsInTime(t *testing.T) {
	inside(t, Options{Reset: time.Minute}, 0, func(t *testing.T, client, server net.Conn) {
		start := time.Now()
		if _, err := client.Read(make([]byte, 1)); err == nil || time.Since(start) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

// running is a proxy before a server that does something with each connection.
func running(t *testing.T, o Options, serve func(c *net.TCPConn)) *net.TCPConn {
	t.Helper()
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var tasks sync.WaitGroup
	tasks.Go(func() {
		for {
			c, err := server.Accept()
			if err != nil {
				return
			}
			tasks.Go(func() {
				defer c.Close()
				serve(c.(*net.TCPConn))
			})
		}
	})
	addr := make(chan net.Addr, 1)
	o.Listen, o.To, o.Ready = "127.0.0.1:0", server.Addr().String(), func(a net.Addr) { addr <- a }
	tasks.Go(func() {
		if err := Run(ctx, o); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		cancel()
		server.Close()
		tasks.Wait()
	})
	c, err := net.Dial("tcp", (<-addr).String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c.(*net.TCPConn)
}

// All bytes come in order, also after the client has ended its direction.
func TestCarriesAllOverTCP(t *testing.T) {
	sent := make([]byte, 2<<20)
	rand.NewChaCha8([32]byte{1}).Read(sent)
	c := running(t, Options{Delay: 2 * ms, Jitter: 2 * ms, Seed: 1}, func(c *net.TCPConn) {
		all, _ := io.ReadAll(c)
		c.Write(all)
	})
	if _, err := c.Write(sent); err != nil {
		t.Fatal(err)
	}
	c.CloseWrite()
	if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, sent) {
		t.Errorf("%d bytes, %v; sent %d", len(got), err, len(sent))
	}
}

// A reset reaches the client, be it the proxy's or the server's, and the server.
func TestResetsOverTCP(t *testing.T) {
	reset := func(what string, c *net.TCPConn) {
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%s: %v", what, err)
		}
	}
	ended := make(chan struct{})
	reset("the proxy's, at the client", running(t, Options{Reset: 300 * ms}, func(c *net.TCPConn) {
		reset("the proxy's, at the server", c)
		close(ended)
	}))
	<-ended
	c := running(t, Options{Delay: ms}, func(c *net.TCPConn) {
		c.Read(make([]byte, 1))
		c.SetLinger(0)
	})
	c.Write([]byte("x"))
	reset("the server's, at the client", c)
}

// The context ends a proxy while bytes are on their way and others wait.
func TestEndsWithBytesOnTheirWay(t *testing.T) {
	c := running(t, Options{Delay: time.Hour, Rate: 1000}, func(c *net.TCPConn) { io.Copy(c, c) })
	if _, err := c.Write(make([]byte, 10_000)); err != nil {
		t.Fatal(err)
	}
}

func TestSaysWhatIsWrong(t *testing.T) {
	for _, o := range []Options{
		{To: "127.0.0.1:1", Delay: ms, Jitter: 2 * ms}, {To: "127.0.0.1:1", Delay: -1}, {To: "127.0.0.1:1", Rate: -1},
		{To: "127.0.0.1:1", Loss: -0.1}, {To: "127.0.0.1:1", Loss: 1}, {To: "127.0.0.1:1", Loss: math.NaN()},
		{To: "nowhere"}, {To: "127.0.0.1:1", Listen: "nowhere"},
	} {
		if err := Run(t.Context(), o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
	for text, want := range map[string]Stall{
		"5s@10s": {5 * time.Second, 10 * time.Second}, "300ms@0s": {300 * ms, 0},
		"5s": {}, "": {}, "5@10": {}, "5s@": {}, "@5s": {}, "-1s@5s": {}, "0s@1s": {}, "1s@-1s": {}, "1s@2s@3s": {},
	} {
		var s, again Stall
		err := s.Set(text)
		if s != want || (err == nil) != (want.For > 0) {
			t.Errorf("%q is %v, %v", text, s, err)
		}
		if err == nil && (again.Set(s.String()) != nil || again != s) {
			t.Errorf("%v is printed as %q", s, s.String())
		}
	}
}

// The share of packets that are lost does not depend on the rate.
func TestLosesTheSameShareAtAnyRate(t *testing.T) {
	for _, rate := range []int64{0, 100_000, 10_000} {
		s := newSchedule(Options{Delay: 30 * time.Millisecond, Loss: 0.02, Rate: rate, Seed: 1}, time.Now(), 0)
		const packets = 5000
		lost, size := 0, int(s.largest())
		for range packets { // one packet's bytes, in the pieces in which they are read
			late := time.Duration(0)
			for left := packetBytes; left > 0; left -= size {
				late = max(late, s.lost(min(left, size)))
			}
			if late > 0 {
				lost++
			}
		}
		if share := float64(lost) / packets; share < 0.015 || share > 0.025 {
			t.Errorf("at %d bytes/s, %.1f%% of packets are lost", rate, 100*share)
		}
	}
}
