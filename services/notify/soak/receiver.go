package soak

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"dyno/services/notify/soak/history"
)

// receiver is every subscriber: a path each. It verifies signatures with the Standard Webhooks
// library and payloads by their notice's id, and knows which process each webhook came from.
type receiver struct {
	history *history.History
	server  *http.Server
	url     string
	served  chan struct{}

	mu          sync.Mutex
	subscribers map[string]*subscriber
	random      *rand.Rand
	process     int              // that may connect now
	conns       map[net.Conn]int // open ones, by process
	closed      *sync.Cond       // one was
}

// subscriber is one path.
type subscriber struct {
	fails   float64       // share of webhooks answered with 500
	delay   time.Duration // at most, before an answer
	secrets []secret      // any may sign, but for those which were replaced before the process began
}

type secret struct {
	verifier *webhooks.Webhook
	acked    history.Moment // when it became the one that signs for certain
}

func newReceiver(h *history.History, seed uint64) (*receiver, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &receiver{history: h, url: "http://" + listener.Addr().String(), served: make(chan struct{}),
		subscribers: map[string]*subscriber{}, random: rand.New(rand.NewPCG(seed, 1)), conns: map[net.Conn]int{}}
	r.closed = sync.NewCond(&r.mu)
	r.server = &http.Server{Handler: r, ConnState: r.track, ConnContext: r.tag, ReadHeaderTimeout: patience}
	go func() {
		defer close(r.served)
		r.server.Serve(listener)
	}()
	return r, nil
}

func (r *receiver) close() {
	r.server.Close()
	<-r.served
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.conns) > 0 {
		r.closed.Wait()
	}
}

// add makes a subscriber known.
func (r *receiver) add(name string, p *subscriber) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.subscribers[name] = p
}

// trust lets a subscriber take what is signed with a secret; once it is acked, processes that begin
// later must sign with it.
func (r *receiver) trust(name, text string, acked history.Moment) error {
	verifier, err := webhooks.NewWebhook(text)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.subscribers[name]
	p.secrets = append(p.secrets, secret{verifier, acked})
	return nil
}

// rotated says that a subscriber's newest secret signs from here on.
func (r *receiver) rotated(name string, acked history.Moment) {
	r.mu.Lock()
	defer r.mu.Unlock()
	secrets := r.subscribers[name].secrets
	secrets[len(secrets)-1].acked = acked
}

// processKey is the key of the number of a connection's process in its context.
type processKey struct{}

func (r *receiver) tag(ctx context.Context, _ net.Conn) context.Context {
	r.mu.Lock()
	defer r.mu.Unlock()
	return context.WithValue(ctx, processKey{}, r.process)
}

func (r *receiver) track(c net.Conn, state http.ConnState) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch state {
	case http.StateNew:
		r.conns[c] = r.process
	case http.StateClosed, http.StateHijacked:
		delete(r.conns, c)
		r.closed.Broadcast()
	}
}

// expect says which process connects from here on.
func (r *receiver) expect(process int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.process = process
}

// settle returns when everything that a dead process sent has been taken in. Connections are
// accepted in the order in which they were made, so that when one made now is served, those of the
// dead were accepted.
func (r *receiver) settle(process int) error {
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		return fmt.Errorf("the receiver: %w", err)
	}
	defer conn.Close()
	if _, err = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: r\r\nConnection: close\r\n\r\n"); err == nil {
		_, err = io.Copy(io.Discard, conn)
	}
	if err != nil {
		return fmt.Errorf("the receiver: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.holds(process) {
		r.closed.Wait() // the kernel has closed the other ends
	}
	return nil
}

func (r *receiver) holds(process int) bool {
	for _, p := range r.conns {
		if p == process {
			return true
		}
	}
	return false
}

const maxWebhook = 8 << 20 // bytes; a batch of eight notices takes some thousand

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method == http.MethodGet {
		return // of settle
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxWebhook))
	if err != nil {
		return // the sender died in mid-sentence
	}
	hook := history.Webhook{Subscription: strings.TrimPrefix(req.URL.Path, "/"), Process: req.Context().Value(processKey{}).(int)}
	if hook.IDs, err = parse(body); err != nil {
		r.history.Fault(fmt.Sprintf("a webhook to %s: %v", hook.Subscription, err))
	}
	delay, ok := r.answer(&hook, body, req.Header)
	seen := r.history.Arrive(hook)
	time.Sleep(delay) // as a slow subscriber does
	if !ok {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusNoContent)
	if http.NewResponseController(w).Flush() == nil && req.Context().Err() == nil {
		r.history.Answer(seen)
	}
}

// answer decides how a webhook is answered and when.
func (r *receiver) answer(hook *history.Webhook, body []byte, header http.Header) (delay time.Duration, ok bool) {
	began := r.history.Began(hook.Process)
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.subscribers[hook.Subscription]
	if p == nil {
		r.history.Fault("a webhook to " + hook.Subscription + ", which was never subscribed")
		return 0, true
	}
	if !p.verify(body, header, began) {
		r.history.Fault(fmt.Sprintf("a webhook to %s from process %d does not verify: %v", hook.Subscription, hook.Process, header))
	}
	hook.OK = r.random.Float64() >= p.fails
	for _, id := range hook.IDs {
		hook.OK = hook.OK && (p.fails == 0 || !poisonous(id))
	}
	if p.delay > 0 {
		delay = time.Duration(r.random.Int64N(int64(p.delay)))
	}
	return delay, hook.OK
}

// verify tries the newest secret that was in force when the process began, and those after it.
func (p *subscriber) verify(body []byte, header http.Header, began history.Moment) bool {
	for i := len(p.secrets) - 1; i >= 0; i-- {
		if p.secrets[i].verifier.Verify(body, header) == nil {
			return true
		}
		if p.secrets[i].acked < began {
			return false
		}
	}
	return false
}

// parse reads a webhook's body, one notice or several, and holds each payload to what was posted.
func parse(body []byte) (ids []string, err error) {
	var envelopes []json.RawMessage
	if json.Unmarshal(body, &envelopes) != nil {
		envelopes = []json.RawMessage{body}
	}
	for _, text := range envelopes {
		var e struct {
			Data struct {
				ID      string
				Payload json.RawMessage
			}
		}
		if err := json.Unmarshal(text, &e); err != nil || e.Data.ID == "" {
			return ids, fmt.Errorf("%.200q is no notice: %v", text, err)
		}
		ids = append(ids, e.Data.ID)
		if want := payload(e.Data.ID); string(e.Data.Payload) != want {
			return ids, fmt.Errorf("%s has the payload %.200q instead of %.200q", e.Data.ID, e.Data.Payload, want)
		}
	}
	return ids, nil
}
