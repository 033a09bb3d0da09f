package proxy_test

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"dyno/parts/servicetest/proxy"
)

// echo is a server that returns what it receives.
func echo(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				io.Copy(c, c)
			}()
		}
	}()
	return l.Addr().String()
}

func dial(t *testing.T, p *proxy.Proxy) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// answers sends one byte and returns the error of reading it back, for which it waits.
func answers(c net.Conn, within time.Duration) error {
	if _, err := c.Write([]byte("x")); err != nil {
		return err
	}
	c.SetReadDeadline(time.Now().Add(within))
	_, err := io.ReadFull(c, make([]byte, 1))
	return err
}

const (
	soon  = time.Minute // bounds what must succeed
	brief = 20 * time.Millisecond
)

func timedOut(err error) bool {
	e, ok := err.(net.Error)
	return ok && e.Timeout()
}

func TestPassesAndHolds(t *testing.T) {
	p := proxy.New(t, echo(t))
	c := dial(t, p)
	if err := answers(c, soon); err != nil {
		t.Fatal(err)
	}
	p.Hold()
	if err := answers(c, brief); !timedOut(err) {
		t.Fatalf("an answer through a proxy that holds: %v", err)
	}
	p.Pass()
	c.SetReadDeadline(time.Now().Add(soon))
	if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
		t.Fatalf("what was held did not arrive: %v", err)
	}
}

func TestRefusesAndCuts(t *testing.T) {
	p := proxy.New(t, echo(t))
	for _, end := range []func(){p.Refuse, p.Cut} {
		c := dial(t, p)
		if err := answers(c, soon); err != nil {
			t.Fatal(err)
		}
		end()
		if err := answers(c, soon); err == nil || timedOut(err) {
			t.Fatalf("a connection that was ended: %v", err)
		}
		p.Pass()
	}
	p.Refuse()
	if err := answers(dial(t, p), soon); err == nil || timedOut(err) {
		t.Fatalf("a connection to a proxy that refuses: %v", err)
	}
	p.Pass()
	if err := answers(dial(t, p), soon); err != nil {
		t.Fatal(err)
	}
}

func TestFallsSilent(t *testing.T) {
	p := proxy.New(t, echo(t))
	p.SilenceAfter(2)
	c := dial(t, p)
	if err := answers(c, soon); err != nil {
		t.Fatal(err)
	}
	if err := answers(c, brief); !timedOut(err) {
		t.Fatalf("after its bytes: %v", err)
	}
	next := dial(t, p)
	if err := answers(next, soon); err != nil {
		t.Fatalf("the next connection: %v", err)
	}
	p.Silence()
	if err := answers(next, brief); !timedOut(err) {
		t.Fatalf("after Silence: %v", err)
	}
	c.Close()
	for deadline := time.Now().Add(soon); p.Silenced() == 0 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	if n := p.Silenced(); n != 1 {
		t.Fatalf("%d connections fell silent after their bytes", n)
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A slow proxy carries everything, and holds the writer up meanwhile.
func TestSlow(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	p := proxy.New(t, server.Addr().String())
	p.Slow()
	client, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	conn, err := server.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const size = 16 << 20
	var writing sync.WaitGroup
	writing.Go(func() {
		if n, err := client.Write(make([]byte, size)); n != size || err != nil {
			t.Errorf("wrote %d bytes, %v", n, err)
		}
		client.Close()
	})
	if _, err := io.ReadFull(conn, make([]byte, 8<<10)); err != nil {
		t.Fatal(err)
	}
	p.Pass()
	if n, err := io.Copy(io.Discard, conn); n != size-8<<10 || err != nil {
		t.Errorf("read %d bytes, %v", n, err)
	}
	writing.Wait()
}
