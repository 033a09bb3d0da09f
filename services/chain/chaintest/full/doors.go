package full

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"

	"dyno/parts/servicetest"
	"dyno/services/chain/chaintest"
)

// doors are attacks by HTTP itself.
var doors = []attack{
	{"a name that was rebound", request("POST / HTTP/1.1\r\nHost: evil.example", chainID), "421 ...--http-vhosts"},
	{"a name that only begins like a permitted one", request("POST / HTTP/1.1\r\nHost: localhost.evil.example", chainID), "421 ...--http-vhosts"},
	{"a rebound name at /submit", request("POST /submit HTTP/1.1\r\nHost: evil.example", "\xc0"), "421 ...--http-vhosts"},
	{"a page of another site", post(chainID, "Origin", "https://evil.example"), "403 ...--http-corsdomain"},
	{"a page of no site", post(chainID, "Origin", "null"), "403 ...--http-corsdomain"},
	{"a page of another site that asks whether it may call", request("OPTIONS / HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: https://evil.example\r\nAccess-Control-Request-Method: POST", ""), "403 ...--http-corsdomain"},
	{"a form of another site", post(chainID, "Content-Type", "text/plain"), "415 ...Content-Type must be application/json"},
	{"a body of no type", request("POST / HTTP/1.1\r\nHost: 127.0.0.1", chainID), "415 ...Content-Type must be application/json"},
	{"a type that only ends like a permitted one", post(chainID, "Content-Type", "text/application/json"), "415 ...Content-Type must be application/json"},
	{"GET", request("GET / HTTP/1.1\r\nHost: 127.0.0.1", ""), "405 ...calls are sent with POST"},
	{"a method that is none", request("STEAL / HTTP/1.1\r\nHost: 127.0.0.1", ""), "405 ...calls are sent with POST"},
	{"GET at /submit", request("GET /submit HTTP/1.1\r\nHost: 127.0.0.1", ""), "405 ...transactions are sent with POST"},
	{"a head of 1 MB", request("POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: "+strings.Repeat("x", 1<<20), chainID), "431 "},
	{"two lengths", raw("POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n[]    "), "400 "},
	{"a length and pieces", raw("POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), "400 "},
	{"a negative length", raw("POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -1\r\n\r\n"), "400 "},
	{"no HTTP", raw("\x00\x01\x02\x03 are no request\r\n\r\n"), "400 "},
	{"TLS", raw("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"), "400 "},
	{"300 bodies that do not arrive", halves("POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"), "result \"0x539\""},
	{"300 bodies of 5 MB that do not arrive", cheaply(100e6, halves("POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 4999999\r\n\r\n{")), "result \"0x539\""},
	{"300 heads that do not arrive", halves("POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-"), "result \"0x539\""},
	{"300 connections that say nothing", halves(""), "result \"0x539\""},
}

// request sends a request with a head and a body, whose length is added, and closes the connection.
func request(head, body string) func(*target) string {
	return raw(fmt.Sprintf("%s\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", head, len(body), body))
}

// raw sends bytes over a connection, and returns the answer to them.
func raw(text string) func(*target) string {
	return func(a *target) string {
		c := a.connect()
		defer c.Close()
		var sent sync.WaitGroup
		defer sent.Wait()
		sent.Go(func() { io.WriteString(c, text) }) // an answer may come before all is sent
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			return "no answer: " + err.Error()
		}
		defer c.Close()
		body, _ := io.ReadAll(resp.Body) // the connection may be reset after it
		return told(chaintest.Reply{Status: resp.StatusCode, Body: body}, nil)
	}
}

// connect opens a connection.
func (a *target) connect() net.Conn {
	a.T.Helper()
	c, err := net.DialTimeout("tcp", strings.TrimPrefix(a.Program.URL, "http://"), servicetest.Patience)
	if err != nil {
		a.T.Fatal(err)
	}
	return c
}

// halves opens 300 connections that send a text and no more, and returns what another client is
// answered meanwhile.
func halves(text string) func(*target) string {
	return func(a *target) string {
		for range 300 {
			c := a.connect()
			defer c.Close()
			if _, err := io.WriteString(c, text); err != nil {
				return err.Error()
			}
		}
		return a.call("eth_chainId", "[]")
	}
}

// endsWithHalves: the program ends when it is asked to, though requests are half sent, and those
// are refused.
func endsWithHalves(c *chaintest.Client) {
	c.Run()
	a := &target{Client: c}
	var all []net.Conn
	for _, path := range []string{"/", "/submit"} {
		for range 100 {
			conn := a.connect()
			defer conn.Close()
			fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{", path)
			all = append(all, conn)
		}
	}
	a.call("eth_chainId", "[]") // so that the program has accepted them
	c.Stop()                    // with exit code 0
	for _, conn := range all {
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || resp.StatusCode != http.StatusRequestTimeout && resp.StatusCode != http.StatusBadRequest {
			c.T.Fatalf("half a request is answered by %v, %v", resp, err)
		}
	}
}
