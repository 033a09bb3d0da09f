package socket

import (
	"bufio"
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
)

var errHandshake = errors.New("the request opens no WebSocket")

// Frames is Accept with frames of our own.
func Frames(w http.ResponseWriter, r *http.Request, o Options) (Socket, error) {
	key := r.Header.Get("Sec-Websocket-Key")
	if text := r.Header["Sec-Websocket-Key"]; len(text) > 1 {
		key = ""
	}
	raw, err := base64.StdEncoding.DecodeString(key)
	switch {
	case !httpguts.HeaderValuesContainsToken(r.Header["Connection"], "upgrade"), !httpguts.HeaderValuesContainsToken(r.Header["Upgrade"], "websocket"):
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", "websocket")
		return nil, refuse(w, http.StatusUpgradeRequired, "this address speaks WebSocket: the request lacks Connection: Upgrade and Upgrade: websocket")
	case r.Header.Get("Sec-Websocket-Version") != "13":
		w.Header().Set("Sec-WebSocket-Version", "13")
		return nil, refuse(w, http.StatusUpgradeRequired, "the version of WebSocket is 13")
	case r.Method != http.MethodGet || !r.ProtoAtLeast(1, 1) || r.ContentLength != 0:
		return nil, refuse(w, http.StatusBadRequest, "a WebSocket is opened by a GET of HTTP/1.1 without a body")
	case err != nil || len(raw) != 16:
		return nil, refuse(w, http.StatusBadRequest, "Sec-WebSocket-Key is one value: 16 bytes in base64")
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, refuse(w, http.StatusInternalServerError, "this connection cannot become a WebSocket")
	}
	s := &frames{conn: conn, subprotocol: choose(r, o.Subprotocols), control: o.Control}
	if err := s.begin(key, buffered.Reader, o); err != nil {
		conn.Close()
		return nil, fmt.Errorf("handshake: %w", err)
	}
	return s, nil
}

func refuse(w http.ResponseWriter, status int, text string) error {
	http.Error(w, text, status)
	return errHandshake
}

// choose returns the best subprotocol that a client offers.
func choose(r *http.Request, spoken []string) string {
	var offered []string
	for _, line := range r.Header["Sec-Websocket-Protocol"] {
		for one := range strings.SplitSeq(line, ",") {
			offered = append(offered, strings.TrimSpace(one))
		}
	}
	for _, one := range spoken {
		if slices.Contains(offered, one) {
			return one
		}
	}
	return ""
}

const handshakeTime = 10 * time.Second

func (s *frames) begin(key string, unread *bufio.Reader, o Options) error {
	if tcp, ok := s.conn.(interface{ SetWriteBuffer(int) error }); ok && o.SendBuffer > 0 {
		if err := tcp.SetWriteBuffer(o.SendBuffer); err != nil {
			return err
		}
	}
	s.try = newTry(s.conn)
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	answer := "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " + base64.StdEncoding.EncodeToString(sum[:]) + "\r\n"
	if s.subprotocol != "" {
		answer += "Sec-WebSocket-Protocol: " + s.subprotocol + "\r\n"
	}
	if n := unread.Buffered(); n > 0 { // frames that came with the handshake
		early, err := unread.Peek(n)
		if err != nil {
			return err
		}
		s.in = append(s.in, early...)
	}
	if err := s.conn.SetDeadline(time.Now().Add(handshakeTime)); err != nil {
		return err
	}
	if _, err := s.conn.Write([]byte(answer + "\r\n")); err != nil {
		return err
	}
	return s.conn.SetDeadline(time.Time{})
}
