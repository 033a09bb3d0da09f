package main

import (
	"bufio"
	"io"
	"net"
	"strings"
	"testing"
)

func TestAnswer(t *testing.T) {
	r := bufio.NewReader(strings.NewReader("$15\r\n1526919030474-0\r\n$3\r\n1-1\r\n-OOM no memory\r\n"))
	for i := range 2 {
		if err := answer(r); err != nil {
			t.Errorf("answer %d: %v", i, err)
		}
	}
	if err := answer(r); err == nil || !strings.Contains(err.Error(), "OOM") {
		t.Errorf("a refusal: %v", err)
	}
}

// A pipeline is sent whole, and each of its records must be answered.
func TestAppender(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	asked := make(chan int, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		n, lines := 0, bufio.NewReader(conn)
		for n < 3 {
			line, err := lines.ReadString('\n')
			if err != nil {
				break
			}
			if line == "XADD\r\n" {
				n++
			}
		}
		io.WriteString(conn, strings.Repeat("$3\r\n1-1\r\n", n))
		asked <- n
	}()
	call, err := appender(l.Addr().String(), 3)
	if err != nil {
		t.Fatal(err)
	}
	if err := call(); err != nil || <-asked != 3 {
		t.Errorf("%v", err)
	}
}
