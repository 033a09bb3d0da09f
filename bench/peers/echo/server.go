package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/gorilla/websocket"
	"github.com/lxzan/gws"

	"dyno/services/arena/socket"
)

// longest is the length of a message that arenad takes, in bytes.
const longest = 4096

// handlers are the servers, by library.
var handlers = map[string]func() http.Handler{"gws": withGws, "gorilla": withGorilla, "frames": withFrames}

// serve serves one of them until ctx ends. Its end cuts the connections off, since no client waits
// for more.
func serve(ctx context.Context, out io.Writer, library, listen string) error {
	handler, ok := handlers[library]
	if !ok {
		return fmt.Errorf("--library %s: there are gws, gorilla and frames", library)
	}
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	web := &http.Server{Handler: handler(), ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- web.Serve(listener) }()
	err = json.NewEncoder(out).Encode(map[string]any{"ready": true, "service": "echo+" + library, "listen": listener.Addr().String(), "pid": os.Getpid()})
	if err == nil {
		select {
		case err := <-served:
			return err
		case <-ctx.Done():
		}
	}
	err = errors.Join(err, web.Close())
	if ended := <-served; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}

// echo answers each message of gws.
type echo struct{ gws.BuiltinEventHandler }

func (echo) OnMessage(c *gws.Conn, message *gws.Message) {
	defer message.Close()
	c.WriteMessage(message.Opcode, message.Bytes()) // an error ends the loop that reads
}

func withGws() http.Handler {
	upgrader := gws.NewUpgrader(echo{}, &gws.ServerOption{ReadMaxPayloadSize: longest})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, err := upgrader.Upgrade(w, r); err == nil {
			go c.ReadLoop() // it ends with the connection; net/http's goroutine and its buffers are free before
		}
	})
}

// withFrames echoes with the frames that arenad makes.
func withFrames() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s, err := socket.Frames(w, r, socket.Options{Control: func([]byte) error { return nil }})
		if err != nil {
			return // it has answered
		}
		go func() { // as with gws
			defer s.CloseNow()
			var out []byte
			for {
				message, err := s.Read()
				if err != nil {
					return
				}
				out = socket.Append(out[:0], nil, message)
				for rest := out; len(rest) > 0; {
					n, err := s.TryWrite(rest)
					if err != nil {
						return
					}
					rest = rest[n:]
				}
			}
		}()
	})
}

func withGorilla() http.Handler {
	var upgrader websocket.Upgrader
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			return // the upgrader has answered
		}
		defer c.Close()
		c.SetReadLimit(longest)
		for {
			kind, message, err := c.ReadMessage()
			if err != nil || c.WriteMessage(kind, message) != nil {
				return
			}
		}
	})
}
