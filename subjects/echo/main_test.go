package main

import (
	"strings"
	"testing"
)

// A request counts once, wherever the stream is cut.
func TestRequestsAcrossCuts(t *testing.T) {
	const stream = "GET / HTTP/1.1\r\nHost: a\r\n\r\n" + "GET /\r HTTP/1.1\r\n\r\r\n\r\n" + "GET / HTTP/1.1\r\n"
	for first := range len(stream) {
		for second := first; second < len(stream); second++ {
			total, matched := 0, uint8(0)
			for _, piece := range []string{stream[:first], stream[first:second], stream[second:]} {
				var n int
				n, matched = requests([]byte(piece), matched)
				total += n
			}
			if total != 2 {
				t.Fatalf("cut at %d and %d: %d requests, want 2", first, second, total)
			}
		}
	}
}

func TestAnswerHasItsLength(t *testing.T) {
	_, body, ok := strings.Cut(string(answer), "\r\n\r\n")
	if !ok || len(body) != 128 {
		t.Fatalf("the answer's body is %d bytes long, its header says 128", len(body))
	}
}
