package sim

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
	"testing"
	"time"

	"dyno/services/ledger/sim/chain"
)

// BenchmarkServe measures the CPU of an answer of 90 transactions, of both ends together; the
// client only reads it. Compare with BenchmarkLoopback, where the server only writes the same
// number of bytes.
func BenchmarkServe(b *testing.B) {
	s := start(b, Config{Spec: chain.Spec{Ledgers: 20_000, Distinct: 16}})
	if err := s.Made(b.Context()); err != nil {
		b.Fatal(err)
	}
	conn, err := net.Dial("tcp", s.listener.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	r := bufio.NewReaderSize(conn, 64<<10)
	ask := func(i int) int64 {
		body := fmt.Sprintf(`{"method":"ledger","params":[{%s}]}`, full(chain.DefaultFirst+uint32(i%20_000), 1))
		fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: sim\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		a, err := http.ReadResponse(r, nil)
		if err != nil {
			b.Fatal(err)
		}
		n, err := io.Copy(io.Discard, a.Body)
		if err != nil {
			b.Fatal(err)
		}
		return n
	}
	measure(b, ask)
}

func BenchmarkLoopback(b *testing.B) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	const size = 187_000
	done := make(chan struct{})
	go func() {
		defer close(done)
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		out, in := make([]byte, size), make([]byte, 1)
		for {
			if _, err := conn.Read(in); err != nil {
				return
			}
			if _, err := conn.Write(out); err != nil {
				return
			}
		}
	}()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	in := make([]byte, 64<<10)
	measure(b, func(int) int64 {
		conn.Write(in[:1])
		for n := 0; n < size; {
			m, err := conn.Read(in)
			if err != nil {
				b.Fatal(err)
			}
			n += m
		}
		return size
	})
	conn.Close()
	l.Close()
	<-done
}

// measure reports the CPU time of this process per operation.
func measure(b *testing.B, ask func(i int) int64) {
	b.ReportAllocs()
	before := cpu()
	var bytes int64
	n := 0
	for b.Loop() {
		bytes += ask(n)
		n++
	}
	b.SetBytes(bytes / int64(n))
	b.ReportMetric(float64(cpu()-before)/float64(time.Microsecond)/float64(n), "cpu-us/op")
}

func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
