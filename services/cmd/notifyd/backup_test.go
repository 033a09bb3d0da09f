package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// receiver notes, for each path and key, which numbers came, in the order in which they came. Paths
// that begin with /sick answer 503 until it is well.
type receiver struct {
	mu   sync.Mutex
	well bool
	got  map[string][]int // by path and key
	more *sync.Cond       // something came
}

func newReceiver() *receiver {
	r := &receiver{got: map[string][]int{}}
	r.more = sync.NewCond(&r.mu)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var hook struct {
		Data struct {
			Key     string
			Payload int
		}
	}
	if err := json.NewDecoder(req.Body).Decode(&hook); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.well && strings.HasPrefix(req.URL.Path, "/sick") {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	lane := req.URL.Path + " " + hook.Data.Key
	r.got[lane] = append(r.got[lane], hook.Data.Payload)
	r.more.Broadcast()
}

// turn returns what came so far and begins anew, well or not.
func (r *receiver) turn(well bool) map[string][]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	was := r.got
	r.got, r.well = map[string][]int{}, well
	return was
}

// await waits until what came fulfils a condition.
func (r *receiver) await(done func(got map[string][]int) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for !done(r.got) {
		r.more.Wait()
	}
}

// poster posts the numbers of one key, in batches, one after the other.
type poster struct {
	key   string
	acked atomic.Int64 // numbers up to it were acknowledged
}

const perBatch = 5

func (p *poster) post(api string) error {
	var lines strings.Builder
	at := int(p.acked.Load())
	for i := range perBatch {
		fmt.Fprintf(&lines, `{"key":%q,"type":"t","payload":%d}`+"\n", p.key, at+i+1)
	}
	status, answer, err := ask("POST", api+"/v1/notices", "application/x-ndjson", lines.String())
	if err == nil && status != http.StatusAccepted {
		err = fmt.Errorf("%d %s", status, answer)
	}
	if err == nil {
		p.acked.Add(perBatch)
	}
	return err
}

func subscribe(t *testing.T, api, url string) {
	t.Helper()
	status, answer, err := ask("POST", api+"/v1/subscriptions", "application/json", fmt.Sprintf(`{"url":%q}`, url))
	if err != nil || status != http.StatusCreated {
		t.Fatalf("subscribing: %d %s, %v", status, answer, err)
	}
}

// A process started on a backup that was made under load delivers all that had been acknowledged
// when the backup began and was not delivered, in order per key.
func TestBackupUnderLoad(t *testing.T) {
	hooks := newReceiver()
	web := httptest.NewUnstartedServer(hooks)
	var open sync.WaitGroup // connections
	web.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			open.Add(1)
		case http.StateClosed:
			open.Done()
		}
	}
	web.Start()
	defer web.Close()
	settings := []string{"--allow-private-targets", "--set=backoff=1ms", "--set=max_backoff=200ms", "--set=max_attempts=100", "--set=window=50"}
	first := serve(t, filepath.Join(t.TempDir(), "first"), settings...)
	subscribe(t, first.api, web.URL+"/fine")
	subscribe(t, first.api, web.URL+"/sick") // gets nothing from the first process: all of it is pending

	var posters [4]poster
	var stop atomic.Bool
	var load sync.WaitGroup
	ended := sync.OnceFunc(func() { stop.Store(true); load.Wait() })
	defer ended()
	for i := range posters {
		p := &posters[i]
		p.key = fmt.Sprintf("key-%d", i)
		load.Go(func() {
			for !stop.Load() {
				if err := p.post(first.api); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	hooks.await(func(got map[string][]int) bool { return len(got["/fine "+posters[0].key]) >= 100 || t.Failed() })
	acked := map[string]int{} // before the backup begins
	for i := range posters {
		acked[posters[i].key] = int(posters[i].acked.Load())
	}
	status, archive, err := ask("GET", first.debug+"/debug/notify/backup", "", "")
	if err != nil || status != http.StatusOK {
		t.Fatalf("the backup: %d %.300s, %v", status, archive, err)
	}
	ended()
	first.Kill()
	open.Wait() // what it had sent comes even now
	before := hooks.turn(true)

	second := serve(t, unpack(t, archive), settings...)
	hooks.await(func(got map[string][]int) bool {
		for key, most := range acked {
			if lastOf(got["/sick "+key]) < most || max(lastOf(got["/fine "+key]), lastOf(before["/fine "+key])) < most {
				return false
			}
		}
		return true
	})
	second.stop() // delivers the rest
	if said := second.output(); strings.Contains(said, `"level":"ERROR"`) {
		t.Errorf("the second process complains:\n%s", said)
	}
	after := hooks.turn(true)
	for key := range acked {
		if got := after["/sick "+key]; len(got) == 0 || got[0] != 1 || !consecutive(got) {
			t.Errorf("/sick got of %s %v", key, got)
		}
		// What the first process delivered after the backup comes again; nothing is left out.
		if got, was := after["/fine "+key], before["/fine "+key]; len(got) > 0 && (got[0] > lastOf(was)+1 || !consecutive(got)) || !consecutive(was) {
			t.Errorf("/fine got of %s up to %d, and after the restart %v", key, lastOf(was), got)
		}
	}
}

func lastOf(numbers []int) int {
	if len(numbers) == 0 {
		return 0
	}
	return numbers[len(numbers)-1]
}

func consecutive(numbers []int) bool {
	for i := 1; i < len(numbers); i++ {
		if numbers[i] != numbers[i-1]+1 {
			return false
		}
	}
	return true
}

// unpack makes a data folder of a backup.
func unpack(t *testing.T, archive []byte) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "second")
	if err := os.Mkdir(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		if err == nil && h.Typeflag == tar.TypeDir {
			err = os.Mkdir(filepath.Join(dir, h.Name), os.FileMode(h.Mode))
		} else if err == nil {
			var text []byte
			if text, err = io.ReadAll(r); err == nil {
				err = os.WriteFile(filepath.Join(dir, h.Name), text, os.FileMode(h.Mode))
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
