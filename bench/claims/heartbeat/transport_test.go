//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"dyno/services/arena/socket"
	"dyno/services/arena/wire"
)

const callers = 64 // of BenchmarkTransport

// BenchmarkTransport is a heartbeat over each protocol, from 64 clients that have little cost of
// their own: they write the same bytes again and again. CPU-ns/op is the CPU time of both sides.
func BenchmarkTransport(b *testing.B) {
	secure := func(protocol string) *tls.Config {
		return &tls.Config{InsecureSkipVerify: true, NextProtos: []string{protocol}}
	}
	mux := func(h hand) http.Handler {
		mux := http.NewServeMux()
		mux.Handle("POST /api/heartbeat", h)
		mux.HandleFunc("GET /ws", overWebSocket(h))
		return mux
	}
	for _, t := range []struct {
		name  string
		conns int
		tls   *tls.Config // nil: none
		call  func(c net.Conn, each int, next func() bool) error
	}{
		{"http1", callers, nil, callHTTP1},
		{"http1-tls", callers, secure("http/1.1"), callHTTP1},
		{"http2-tls", callers, secure("h2"), callHTTP2},
		{"http2-tls-one-connection", 1, secure("h2"), callHTTP2},
		{"websocket", callers, nil, callWebSocket},
		{"websocket-tls", callers, secure("http/1.1"), callWebSocket},
	} {
		b.Run(t.name, func(b *testing.B) {
			h := newHand()
			s := httptest.NewUnstartedServer(mux(h))
			s.EnableHTTP2 = true
			if s.Start(); t.tls != nil {
				s.Close()
				s = httptest.NewUnstartedServer(mux(h))
				s.EnableHTTP2 = true
				s.StartTLS()
			}
			defer s.Close()
			drive(b, s.Listener.Addr().String(), t.conns, t.tls, t.call)
		})
	}
	b.Run("http1-loop", func(b *testing.B) {
		url := serve(b, newHand())
		drive(b, url[len("http://"):len(url)-len("/api/heartbeat")], callers, nil, callHTTP1)
	})
}

// drive calls b.N times over several connections.
func drive(b *testing.B, address string, conns int, secure *tls.Config, call func(c net.Conn, each int, next func() bool) error) {
	var all []net.Conn
	for range conns {
		c, err := net.Dial("tcp", address)
		if err == nil && secure != nil {
			over := tls.Client(c, secure)
			err, c = over.HandshakeContext(context.Background()), over
		}
		if err != nil {
			b.Fatal(err)
		}
		defer c.Close()
		all = append(all, c)
	}
	left := make(chan struct{}, b.N)
	for range b.N {
		left <- struct{}{}
	}
	close(left)
	var calling sync.WaitGroup
	b.ResetTimer()
	before := processTime(b)
	for _, c := range all {
		calling.Go(func() {
			if err := call(c, callers/conns, func() bool { _, ok := <-left; return ok }); err != nil {
				b.Error(err)
			}
		})
	}
	calling.Wait()
	b.ReportMetric(float64(processTime(b)-before)/float64(b.N), "CPU-ns/op")
	b.StopTimer()
}

func processTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func callHTTP1(c net.Conn, _ int, next func() bool) error {
	request := fmt.Appendf(nil, "POST /api/heartbeat HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(usual), usual)
	in := make([]byte, 4096)
	for next() {
		if _, err := c.Write(request); err != nil {
			return err
		}
		n, err := c.Read(in)
		if err != nil {
			return err
		}
		if !bytes.HasPrefix(in[:n], []byte("HTTP/1.1 200")) || !bytes.HasSuffix(in[:n], []byte("}\n")) {
			return fmt.Errorf("answered %q", in[:n])
		}
	}
	return nil
}

// callHTTP2 keeps a number of streams under way.
func callHTTP2(c net.Conn, each int, next func() bool) error {
	out, in := bufio.NewWriter(c), bufio.NewReader(c)
	f := http2.NewFramer(out, in)
	f.SetReuseFrames()
	io.WriteString(out, http2.ClientPreface)
	f.WriteSettings()
	f.WriteWindowUpdate(0, 1<<31-1-65535)
	var block bytes.Buffer
	fields := hpack.NewEncoder(&block)
	id, open := uint32(1), 0
	send := func() {
		block.Reset()
		for _, field := range []hpack.HeaderField{{Name: ":method", Value: "POST"}, {Name: ":scheme", Value: "https"}, {Name: ":authority", Value: "x"},
			{Name: ":path", Value: "/api/heartbeat"}, {Name: "content-type", Value: "application/json"}} {
			fields.WriteField(field)
		}
		f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block.Bytes(), EndHeaders: true})
		f.WriteData(id, true, usual)
		id, open = id+2, open+1
	}
	for open < each && next() {
		send()
	}
	for open > 0 {
		if in.Buffered() == 0 {
			if err := out.Flush(); err != nil {
				return err
			}
		}
		frame, err := f.ReadFrame()
		if err != nil {
			return err
		}
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if !frame.IsAck() {
				f.WriteSettingsAck()
			}
		case *http2.PingFrame:
			f.WritePing(true, frame.Data)
		case *http2.DataFrame:
			if !bytes.HasPrefix(frame.Data(), []byte(`{"server_ms":`)) {
				return fmt.Errorf("answered %q", frame.Data())
			}
			if !frame.StreamEnded() {
				continue
			}
			if open--; next() {
				send()
			}
		case *http2.RSTStreamFrame, *http2.GoAwayFrame:
			return errors.New(frame.Header().String())
		}
	}
	return nil
}

// overWebSocket answers a Ping as a session of arenad does, with the player's key in place of a
// room.
func overWebSocket(h hand) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s, err := socket.Frames(w, r, socket.Options{Subprotocols: []string{wire.Proto}, Control: func([]byte) error { return nil }})
		if err != nil {
			return
		}
		defer s.CloseNow()
		id := []byte("player-123456")
		var in wire.ClientFrame
		var out, ends = []byte(nil), []int{0}
		for {
			message, err := s.Read()
			if err != nil {
				return
			}
			if in.Reset(); in.UnmarshalVT(message) != nil {
				return
			}
			pong := &wire.ServerFrame{Body: &wire.ServerFrame_Pong{Pong: &wire.Pong{ClientMs: in.GetPing().GetClientMs(), ServerMs: uint64(h.beats.Heard(id))}}}
			text, err := pong.MarshalVT()
			if err != nil {
				return
			}
			out = socket.Append(out[:0], nil, text)
			if ends[0] = len(out); s.Write(out, ends, time.Second) != nil {
				return
			}
		}
	}
}

func callWebSocket(c net.Conn, _ int, next func() bool) error {
	fmt.Fprintf(c, "GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"+
		"Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\nSec-WebSocket-Protocol: %s\r\n\r\n", wire.Proto)
	in := bufio.NewReader(c)
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusSwitchingProtocols {
		return fmt.Errorf("no WebSocket: status %d", resp.StatusCode)
	}
	ping := wire.ClientFrame{Body: &wire.ClientFrame_Ping{Ping: &wire.Ping{ClientMs: 1}}}
	message, err := ping.MarshalVT()
	if err != nil {
		return err
	}
	frame := append([]byte{0x82, 0x80 | byte(len(message)), 0, 0, 0, 0}, message...) // a mask of zeros
	for next() {
		if _, err := c.Write(frame); err != nil {
			return err
		}
		head, err := in.Peek(2)
		if err == nil {
			_, err = in.Discard(2 + int(head[1]))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
