package peers

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/coder/websocket"
	"golang.org/x/net/netutil"
)

// maxConnections bounds the open connections, with those that have not proved an ID yet.
const maxConnections = 256

// accept serves a listener until ctx ends, and then closes it.
func (n *Network) accept(ctx context.Context, l net.Listener) error {
	var protocols http.Protocols
	protocols.SetHTTP1(true) // a WebSocket needs it
	server := &http.Server{
		Handler: n, TLSConfig: n.tls.Clone(), Protocols: &protocols, ReadHeaderTimeout: n.patience, IdleTimeout: n.patience, MaxHeaderBytes: 8 << 10,
		ErrorLog: slog.NewLogLogger(n.o.Log.Handler(), slog.LevelDebug), // strangers cause errors as they like
	}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	err := server.ServeTLS(netutil.LimitListener(l, maxConnections), "", "")
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("listening for peers: %w", err)
}

// ServeHTTP takes a peer's connection: its ID is proved and permitted.
func (n *Network) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if len(r.Header["Origin"]) > 0 {
		http.Error(w, "this address is for nodes, not for browsers", http.StatusForbidden)
		return
	}
	if r.TLS == nil {
		http.Error(w, "nodes speak TLS", http.StatusBadRequest)
		return
	}
	id, err := proved(*r.TLS)
	if err != nil {
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	if away := n.away(id); away > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(away.Seconds())+1))
		http.Error(w, "kept away for what it has done before", http.StatusTooManyRequests)
		return
	}
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return // it has answered
	}
	n.mu.Lock()
	ctx := n.ctx // the request's own says nothing of a connection that was taken from the server
	if ctx.Err() != nil {
		n.mu.Unlock()
		conn.CloseNow()
		return
	}
	n.users.Add(1) // the server does not wait for it
	n.mu.Unlock()
	defer n.users.Done()
	_ = n.serve(ctx, conn, id, r.RemoteAddr, false) // why it ended is logged and remembered
}

// Waits between two dials of an address.
const (
	minRedial = 100 * time.Millisecond
	maxRedial = 10 * time.Second
)

// keep keeps a connection to an address until ctx ends.
func (n *Network) keep(ctx context.Context, a Address) {
	client, target := n.client(a), a.ID
	defer client.CloseIdleConnections()
	wait, told := minRedial, ""
	for {
		n.gone(ctx, target)
		id, err := n.dial(ctx, client, a)
		if ctx.Err() != nil {
			return
		}
		if id != (ID{}) {
			target = id
		}
		if text := err.Error(); id == (ID{}) && text != told {
			n.o.Log.Warn("dialling a peer failed; it is tried again", "address", a, "error", text)
			told = text
		}
		if wait = min(2*wait, maxRedial); errors.Is(err, errEnded) {
			wait, told = minRedial, ""
		}
		pause := time.NewTimer(max(wait, n.away(target)))
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return
		}
	}
}

// errEnded marks the end of a connection that has brought messages.
var errEnded = errors.New("the connection has ended")

// dial connects to an address, serves the connection and returns why it ended; the ID is zero if
// there was none.
func (n *Network) dial(ctx context.Context, client *http.Client, a Address) (id ID, err error) {
	dialling, cancel := context.WithTimeout(ctx, n.patience)
	conn, answer, err := websocket.Dial(dialling, "wss://"+a.Host, &websocket.DialOptions{HTTPClient: client, CompressionMode: websocket.CompressionDisabled})
	cancel()
	if err != nil {
		return id, err
	}
	if id, err = proved(*answer.TLS); err != nil {
		conn.CloseNow()
		return id, err
	}
	began := time.Now()
	err = n.serve(ctx, conn, id, a.Host, true)
	if time.Since(began) > n.patience {
		err = fmt.Errorf("%w: %w", errEnded, err)
	}
	return id, err
}

// client makes the connections to an address, which must prove the ID that the address has.
func (n *Network) client(a Address) *http.Client {
	config := n.tls.Clone()
	config.VerifyConnection = func(c tls.ConnectionState) error {
		id, err := proved(c)
		if err == nil && a.ID != (ID{}) && id != a.ID {
			err = fmt.Errorf("the node at %s has the id %v, and %v was expected", a.Host, id, a.ID)
		}
		if err == nil {
			err = n.permit(id)
		}
		return err
	}
	return &http.Client{Transport: &http.Transport{DialContext: n.o.Dial, TLSClientConfig: config, TLSHandshakeTimeout: n.patience}}
}
