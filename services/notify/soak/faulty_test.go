package soak

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// faulty is a dispatcher that is as simple as can be, and into which faults can be put: it is what
// the harness is tested on. Its state is one file of JSON lines; every line is a change, and what
// it knows is the lines' sum.
type faulty struct {
	fault string
	log   *os.File

	mu      sync.Mutex
	more    *sync.Cond   // something is pending
	unsaved []faultyLine // of the fault "early"
	seq     uint64
	ids     map[string]uint64
	subs    map[string]*faultySubscription
	made    int
}

// Faults that can be put in.
const (
	early     = "early"     // answers before it has written
	unsynced  = "unsynced"  // does not sync: only a power cut shows it
	halves    = "halves"    // writes the notices of a batch one by one
	forgets   = "forgets"   // knows no ids after a restart
	reuses    = "reuses"    // counts again from the notices still pending
	overtakes = "overtakes" // delivers the newest first
	again     = "again"     // writes nothing down of what it delivered
	undead    = "undead"    // deletes in memory only
	miscounts = "miscounts" // counts from zero after a restart
)

// faultyVariable is fault, folder: with it the test program is a faulty dispatcher, also for the
// power cuts of bench/tests/powercut.
const faultyVariable = "SOAK_FAULTY"

type faultyLine struct {
	Notices []faultyNotice `json:",omitempty"`
	Put     *view          `json:",omitempty"`
	Delete  string         `json:",omitempty"`
	Done    string         `json:",omitempty"` // the subscription's id
	Seq     uint64         `json:",omitempty"`
	Dead    bool           `json:",omitempty"`
}

type faultyNotice struct {
	ID, Key, Type string
	Payload       json.RawMessage
	Seq           uint64
}

type faultySubscription struct {
	view
	Accepted, Delivered, Dead int64
	pending                   []faultyNotice
	dead                      []string
	gone                      bool
}

func faultyMain() {
	fault, dir, ok := strings.Cut(os.Getenv(faultyVariable), ",")
	if !ok {
		return
	}
	if err := runFaulty(fault, dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func runFaulty(fault, dir string) error {
	t := &faulty{fault: fault, ids: map[string]uint64{}, subs: map[string]*faultySubscription{}}
	t.more = sync.NewCond(&t.mu)
	if err := t.open(dir); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/notices", t.postNotices)
	mux.HandleFunc("POST /v1/subscriptions", t.create)
	mux.HandleFunc("GET /v1/subscriptions", t.list)
	mux.HandleFunc("PATCH /v1/subscriptions/{id}", t.patch)
	mux.HandleFunc("DELETE /v1/subscriptions/{id}", t.delete)
	mux.HandleFunc("GET /v1/stats", t.stats)
	mux.HandleFunc("GET /v1/dead", t.letters)
	go http.Serve(listener, mux)
	if fault == early {
		go t.saveLater()
	}
	fmt.Printf("{\"ready\":true,\"listen\":%q}\n", listener.Addr())
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	<-ctx.Done()
	return nil
}

func (t *faulty) open(dir string) (err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if t.log, err = os.OpenFile(filepath.Join(dir, "log"), os.O_RDWR|os.O_CREATE, 0o644); err != nil {
		return err
	}
	whole := int64(0)
	for r := bufio.NewReader(t.log); ; {
		text, err := r.ReadBytes('\n')
		var l faultyLine
		if err != nil || json.Unmarshal(text, &l) != nil {
			break
		}
		whole += int64(len(text))
		t.apply(l)
	}
	if _, err := t.log.Seek(whole, io.SeekStart); err != nil {
		return err
	}
	if err := t.log.Truncate(whole); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.subs {
		t.begin(s)
		if t.fault == miscounts {
			s.Accepted, s.Delivered, s.Dead = int64(len(s.pending)), 0, 0
		}
	}
	switch t.fault {
	case forgets:
		clear(t.ids)
	case reuses:
		t.seq /= 2
	}
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer folder.Close()
	t.sync()
	return folder.Sync()
}

// save writes lines and then applies them. The caller holds mu, and syncs if it must be durable.
func (t *faulty) save(lines ...faultyLine) {
	if t.fault == early {
		t.unsaved = append(t.unsaved, lines...)
	} else {
		t.write(lines...)
	}
	for _, l := range lines {
		t.apply(l)
	}
	t.more.Broadcast()
}

func (t *faulty) write(lines ...faultyLine) {
	for _, l := range lines {
		text, err := json.Marshal(l)
		if err == nil {
			_, err = t.log.Write(append(text, '\n'))
		}
		if err != nil {
			os.Exit(1) // the disk is gone
		}
	}
}

func (t *faulty) sync() {
	if t.fault != unsynced && t.log.Sync() != nil {
		os.Exit(1)
	}
}

func (t *faulty) saveLater() {
	for range time.Tick(100 * time.Millisecond) {
		t.mu.Lock()
		t.write(t.unsaved...)
		t.unsaved = nil
		t.mu.Unlock()
	}
}

func (t *faulty) apply(l faultyLine) {
	for _, n := range l.Notices {
		t.seq = max(t.seq, n.Seq)
		t.ids[n.ID] = n.Seq
		for _, s := range t.subs {
			if s.wants(n.Type) {
				s.Accepted++
				s.pending = append(s.pending, n)
			}
		}
	}
	if l.Put != nil {
		if s := t.subs[l.Put.ID]; s != nil {
			s.view = *l.Put
		} else {
			t.subs[l.Put.ID] = &faultySubscription{view: *l.Put}
			t.made++
		}
	}
	if s := t.subs[l.Delete]; s != nil {
		s.gone = true
		delete(t.subs, l.Delete)
	}
	if s := t.subs[l.Done]; s != nil {
		s.settle(l)
	}
}

func (s *faultySubscription) settle(l faultyLine) {
	for i, n := range s.pending {
		if n.Seq != l.Seq {
			continue
		}
		s.pending = append(s.pending[:i:i], s.pending[i+1:]...)
		if l.Dead {
			s.Dead++
			s.dead = append(s.dead, n.ID)
		} else {
			s.Delivered++
		}
		return
	}
}

func (s *faultySubscription) wants(kind string) bool {
	for _, p := range s.Types {
		prefix, isPrefix := strings.CutSuffix(p, "*")
		if p == kind || isPrefix && strings.HasPrefix(kind, prefix) {
			return true
		}
	}
	return len(s.Types) == 0
}

// begin starts a subscription's senders, each for its share of the keys.
func (t *faulty) begin(s *faultySubscription) {
	lanes := uint32(1)
	if s.Concurrency > 3 {
		lanes = uint32(s.Concurrency)
	}
	for i := range lanes {
		go t.send(s, i, lanes)
	}
}

func (t *faulty) send(s *faultySubscription, lane, lanes uint32) {
	for {
		n, v, ok := t.next(s, lane, lanes)
		if !ok {
			return
		}
		l := faultyLine{Done: v.ID, Seq: n.Seq}
		for tries := 0; !deliver(v, n); tries++ {
			if l.Dead = tries == 11; l.Dead {
				break
			}
			time.Sleep(time.Millisecond)
		}
		t.mu.Lock()
		if t.fault == again && !l.Dead {
			t.apply(l)
		} else {
			t.save(l)
		}
		t.mu.Unlock()
	}
}

func (t *faulty) next(s *faultySubscription, lane, lanes uint32) (faultyNotice, view, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for {
		if s.gone {
			return faultyNotice{}, view{}, false
		}
		var found *faultyNotice
		for i := range s.pending {
			h := fnv.New32a()
			io.WriteString(h, s.pending[i].Key)
			if h.Sum32()%lanes == lane {
				found = &s.pending[i]
				if t.fault != overtakes {
					break
				}
			}
		}
		if found != nil {
			return *found, s.view, true
		}
		t.more.Wait()
	}
}

func deliver(v view, n faultyNotice) bool {
	body := fmt.Appendf(nil, `{"type":%q,"data":{"id":%q,"key":%q,"payload":%s}}`, n.Type, n.ID, n.Key, n.Payload)
	signer, err := webhooks.NewWebhook(v.Secret)
	if err != nil {
		return false
	}
	now := time.Now()
	signature, err := signer.Sign(n.ID, now, body)
	if err != nil {
		return false
	}
	req, err := http.NewRequest(http.MethodPost, v.URL, bytes.NewReader(body))
	if err != nil {
		return false
	}
	req.Header.Set("webhook-id", n.ID)
	req.Header.Set("webhook-timestamp", strconv.FormatInt(now.Unix(), 10))
	req.Header.Set("webhook-signature", signature)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode < 300
}

func (t *faulty) postNotices(w http.ResponseWriter, r *http.Request) {
	var l faultyLine
	for d := json.NewDecoder(r.Body); ; {
		var n faultyNotice
		if d.Decode(&n) != nil {
			break
		}
		l.Notices = append(l.Notices, n)
	}
	type result struct {
		ID        string `json:"id"`
		Seq       uint64 `json:"seq"`
		Duplicate bool   `json:"duplicate,omitempty"`
	}
	var results []result
	t.mu.Lock()
	all, fresh := l.Notices, []faultyNotice(nil)
	for _, n := range all {
		seq, known := t.ids[n.ID]
		if !known {
			seq = t.seq + uint64(len(fresh)) + 1
			n.Seq = seq
			fresh = append(fresh, n)
		}
		results = append(results, result{n.ID, seq, known})
	}
	if l.Notices = fresh; t.fault == halves && len(fresh) > 1 {
		t.save(faultyLine{Notices: fresh[:1]})
		t.seq += uint64(len(fresh)) // reserved under mu
		t.mu.Unlock()
		time.Sleep(time.Second) // this is where a batch is nearly all of the time, for a crash to come between
		t.mu.Lock()
		l.Notices = fresh[1:]
	}
	if len(l.Notices) > 0 {
		t.save(l)
	}
	t.sync()
	t.mu.Unlock()
	w.WriteHeader(http.StatusAccepted)
	if len(results) == 1 {
		json.NewEncoder(w).Encode(results[0])
		return
	}
	json.NewEncoder(w).Encode(map[string]any{"notices": results})
}

func (t *faulty) create(w http.ResponseWriter, r *http.Request) {
	v := new(view)
	json.NewDecoder(r.Body).Decode(v)
	t.mu.Lock()
	defer t.mu.Unlock()
	v.ID = fmt.Sprint("sub", t.made)
	t.save(faultyLine{Put: v})
	t.begin(t.subs[v.ID])
	t.sync()
	w.WriteHeader(http.StatusCreated)
	json.NewEncoder(w).Encode(v)
}

func (t *faulty) patch(w http.ResponseWriter, r *http.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.subs[r.PathValue("id")]
	if s == nil {
		http.NotFound(w, r)
		return
	}
	v := s.view
	v.Types = nil
	json.NewDecoder(r.Body).Decode(&v)
	if v.Types == nil {
		v.Types = s.Types
	}
	t.save(faultyLine{Put: &v})
	t.sync()
	json.NewEncoder(w).Encode(v)
}

func (t *faulty) delete(w http.ResponseWriter, r *http.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l := (faultyLine{Delete: r.PathValue("id")}); t.fault == undead {
		t.apply(l)
	} else {
		t.save(l)
	}
	t.sync()
	w.WriteHeader(http.StatusNoContent)
}

func (t *faulty) list(w http.ResponseWriter, _ *http.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var views []view
	for _, s := range t.subs {
		views = append(views, s.view)
	}
	json.NewEncoder(w).Encode(map[string]any{"subscriptions": views})
}

func (t *faulty) stats(w http.ResponseWriter, _ *http.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var s statistics
	for _, sub := range t.subs {
		one := row{ID: sub.ID}
		one.Accepted, one.Delivered, one.Dead, one.Pending = sub.Accepted, sub.Delivered, sub.Dead, int64(len(sub.pending))
		s.Accepted, s.Delivered, s.Dead, s.Pending = s.Accepted+one.Accepted, s.Delivered+one.Delivered, s.Dead+one.Dead, s.Pending+one.Pending
		s.Subscriptions = append(s.Subscriptions, one)
	}
	json.NewEncoder(w).Encode(s)
}

func (t *faulty) letters(w http.ResponseWriter, r *http.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []any
	for _, id := range t.subs[r.URL.Query().Get("subscription")].dead {
		out = append(out, map[string]any{"notice": map[string]string{"id": id}})
	}
	json.NewEncoder(w).Encode(map[string]any{"dead": out})
}
