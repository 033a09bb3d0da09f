// Command echo is the fastest HTTP server that fits on a page: one thread, one epoll, one answer of
// 128 bytes to every request, whatever its path. Load generators are measured against it, because a
// slower target would hide their cost; it is the subject of scenarios/peers/generator.yaml.
//
// It is not a usable HTTP server: it reads no request body and checks nothing. Its only goroutine
// waits for the signal to end.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

var answer = []byte("HTTP/1.1 200 OK\r\nContent-Length: 128\r\n\r\n" + strings.Repeat("dynamometer 128\n", 8))

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address to listen on, HOST:PORT with a numeric host; port 0 picks a free one")
	flag.Parse()
	address, err := netip.ParseAddrPort(*listen)
	if err != nil || !address.Addr().Is4() {
		fmt.Fprintf(os.Stderr, "echo: --listen %q: write an IPv4 address and a port, as in 127.0.0.1:8080\n", *listen)
		os.Exit(2)
	}
	terminate := make(chan os.Signal, 1)
	signal.Notify(terminate, syscall.SIGTERM, os.Interrupt)
	go func() {
		<-terminate
		os.Exit(0)
	}()
	if err := serve(address, ready); err != nil {
		fmt.Fprintf(os.Stderr, "echo: %v\n", err)
		os.Exit(1)
	}
}

// ready prints the bound address.
func ready(bound netip.AddrPort) {
	json.NewEncoder(os.Stdout).Encode(struct {
		Listen string `json:"listen"`
	}{bound.String()})
}

// requests counts the requests that end in b. matched is how much of the empty line that ends one
// was seen before b, and the count's second half is the same for what follows.
func requests(b []byte, matched uint8) (n int, after uint8) {
	const end = "\r\n\r\n"
	for _, c := range b {
		switch {
		case c == end[matched]:
			if matched++; matched == uint8(len(end)) {
				n, matched = n+1, 0
			}
		case c == '\r':
			matched = 1
		default:
			matched = 0
		}
	}
	return n, matched
}
