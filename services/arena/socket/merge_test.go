//go:build unix

package socket

import (
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"
)

// BenchmarkMerge writes a tick's frames to a client over loopback: a write for each, or one for
// all, which is said to be 6 to 7 times as cheap for 8 small frames. An operation is a tick, and
// CPU-ns/op its CPU time on both sides.
func BenchmarkMerge(b *testing.B) {
	for _, frames := range []int{2, 8} {
		for _, size := range []int{40, 400} {
			for _, merged := range []bool{false, true} {
				b.Run(fmt.Sprintf("%dx%dB/merged=%v", frames, size, merged), func(b *testing.B) { writeTicks(b, frames, size, merged) })
			}
		}
	}
}

func writeTicks(b *testing.B, frames, size int, merged bool) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	server, err := l.Accept()
	if err != nil {
		b.Fatal(err)
	}
	defer server.Close()
	read := make(chan struct{})
	go func() {
		defer close(read)
		io.Copy(io.Discard, client)
	}()
	frame := append(appendHeader(nil, opBinary, size), make([]byte, size)...)
	var all []byte
	before := processTime(b)
	for b.Loop() {
		if !merged {
			for range frames {
				if _, err := server.Write(frame); err != nil {
					b.Fatal(err)
				}
			}
			continue
		}
		all = all[:0]
		for range frames {
			all = append(all, frame...)
		}
		if _, err := server.Write(all); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	server.Close()
	<-read
	client.Close()
	b.ReportMetric(float64(processTime(b)-before)/float64(b.N), "CPU-ns/op")
}

func processTime(b *testing.B) int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
