package full

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"dyno/parts/quicktest"
	"dyno/parts/servicetest"
)

// sockets are attacks over WebSocket.
var sockets = []attack{
	{"a WebSocket of a page of another site", upgrade("Origin: https://evil.example"), "403 ...--ws-origins"},
	{"a WebSocket of a page of no site", upgrade("Origin: null"), "403 ...--ws-origins"},
	{"a WebSocket of a rebound name", raw("GET / HTTP/1.1\r\nHost: evil.example\r\n" + upgrading + "\r\n"), "421 ...--http-vhosts"},
	{"a WebSocket of another version", raw("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n" + strings.Replace(upgrading, "Version: 13", "Version: 7", 1) + "\r\n"), "400 "},
	{"a WebSocket without a key", raw("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\r\n"), "400 "},

	{"a frame of a kind that is not there", frames("\x83\x80\x00\x00\x00\x00"), "closed with 1002"},
	{"a frame without a mask", frames("\x81\x02{}"), "closed with"},
	{"reserved bits", frames("\xf1\x80\x00\x00\x00\x00"), "closed with 1002"},
	{"a ping in pieces", frames("\x09\x80\x00\x00\x00\x00"), "closed with 1002"},
	{"a ping of 126 bytes", frames("\x89\xfe\x00\x7e\x00\x00\x00\x00" + strings.Repeat("x", 126)), "closed with 1002"},
	{"a piece of no message", frames("\x80\x80\x00\x00\x00\x00"), "closed with 1002"},
	{"a message within another", frames("\x01\x81\x00\x00\x00\x00{" + "\x81\x81\x00\x00\x00\x00{"), "closed with 1002"},
	{"a frame of 2^63 bytes", frames("\x81\xff\x80\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"), "closed with"},
	{"a frame of 2^62 bytes", cheaply(40e6, frames("\x81\xff\x40\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"+strings.Repeat("x", 6_000_000))), "closed with 1009"},
	{"a message without end, in pieces", cheaply(40e6, frames(strings.Repeat("\x01\xfe\xff\xff\x00\x00\x00\x00"+strings.Repeat("x", 65535), 1)+
		strings.Repeat("\x00\xfe\xff\xff\x00\x00\x00\x00"+strings.Repeat("x", 65535), 90))), "closed with 1009"},
	{"a message of bytes", frames("\x82\x82\x00\x00\x00\x00{}"), "closed with 1003"},
	{"text that is no UTF-8", frames("\x81\x82\x00\x00\x00\x00\xff\xff"), "-32700 "},
	{"an array of 100,000 numbers in a frame", cheaply(40e6, frames("\x81\xff\x00\x00\x00\x00\x00\x03\x0d\x41\x00\x00\x00\x00["+strings.Repeat("1,", 99_999)+"1]")), "-32600 the array has 100000 calls"},
	{"half a frame", half("\x81\xfe"), "closed with nothing"},
	{"more subscriptions than a socket may have", func(a *target) string {
		s := a.Dial()
		var err error
		for range 129 {
			err = s.Try(nil, "eth_subscribe", "newHeads")
		}
		return fmt.Sprint(err)
	}, "-32005 a connection has at most 128 subscriptions"},
	{"a subscription over HTTP", call("eth_subscribe", `["newHeads"]`), "-32601 notifications not supported"},
	{"a subscription to what is not there", call("eth_subscribe", `["everything"]`), "-32601 no \"everything\" subscription"},
	{"a reader of nothing with 128 subscriptions", readsNothing, "closed, and counted"},
}

const upgrading = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"

// upgrade asks for a WebSocket with a further line of the header.
func upgrade(line string) func(*target) string {
	return raw("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n" + line + "\r\n" + upgrading + "\r\n")
}

// socket opens a WebSocket whose frames the attacker writes.
func (a *target) socket() (net.Conn, *bufio.Reader) {
	a.T.Helper()
	c := a.connect()
	c.SetDeadline(time.Now().Add(servicetest.Patience))
	io.WriteString(c, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n"+upgrading+"\r\n")
	in := bufio.NewReader(c)
	if resp, err := http.ReadResponse(in, nil); err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		a.T.Fatalf("a WebSocket is answered by %v, %v", resp, err)
	}
	return c, in
}

// frames sends bytes over a WebSocket, and returns the answer, or the code that it is closed with.
func frames(text string) func(*target) string {
	return func(a *target) string {
		c, in := a.socket()
		var sent sync.WaitGroup
		defer sent.Wait()
		defer c.Close()
		sent.Go(func() { io.WriteString(c, text) }) // an answer may come before all is sent
		kind, payload, err := frame(in)
		switch {
		case err != nil:
			return "closed with nothing"
		case kind == 8 && len(payload) >= 2:
			return fmt.Sprintf("closed with %d %s", binary.BigEndian.Uint16(payload), payload[2:])
		}
		return answer(payload)
	}
}

// half sends the beginning of a frame, and no more.
func half(text string) func(*target) string {
	return func(a *target) string {
		c, in := a.socket()
		defer c.Close()
		io.WriteString(c, text)
		c.(*net.TCPConn).CloseWrite()
		if _, payload, err := frame(in); err == nil {
			return answer(payload)
		}
		return "closed with nothing"
	}
}

// frame reads one of the program, of less than 64 KiB.
func frame(in *bufio.Reader) (kind byte, payload []byte, err error) {
	head := make([]byte, 2)
	if _, err := io.ReadFull(in, head); err != nil {
		return 0, nil, err
	}
	kind, size := head[0]&15, int(head[1])
	if size == 126 {
		if _, err := io.ReadFull(in, head[:2]); err != nil {
			return 0, nil, err
		}
		size = int(binary.BigEndian.Uint16(head))
	}
	payload = make([]byte, size)
	_, err = io.ReadFull(in, payload)
	return kind, payload, err
}

// readsNothing subscribes 128 times to logs, and reads none of them.
func readsNothing(a *target) string {
	quicktest.Skip(a.T, "waits until the time for a message is over")
	slow := a.metric("blockchain_slow_sockets_total")
	c, in := a.socket()
	defer c.Close()
	for range 128 {
		text := message("eth_subscribe", `["logs",{}]`)
		c.Write(append([]byte{0x81, 0x80 | byte(len(text)), 0, 0, 0, 0}, text...)) // an error shows in the answer
		if _, answered, err := frame(in); err != nil || !strings.HasPrefix(answer(answered), "result ") {
			return fmt.Sprintf("a subscription is answered by %s, %v", answered, err)
		}
	}
	a.create(logging, 8_000_000) // 11,000 logs of some 400 bytes, 128 times: 600 MB, of which a queue holds 4
	servicetest.Await(a.T, func() string { return "the end of the socket" }, func() bool {
		return a.metric("blockchain_slow_sockets_total") > slow
	})
	return "closed, and counted"
}
