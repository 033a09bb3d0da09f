package release

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"dyno/services/orders/web"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open returns a Release that is closed at the end of the test.
func open(t testing.TB, o Options) *Release {
	t.Helper()
	r, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// stand is a Release between two versions: both answer 200 and `{"by":...}`; a test sets the second
// one's answers.
type stand struct {
	*Release
	handler web.Handler
	log     journal

	mu     sync.Mutex
	asked  []*http.Request // by the second version
	answer func(*http.Request) (*http.Response, error)
}

// journal stores log lines.
type journal struct {
	mu   sync.Mutex
	text strings.Builder
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

const target = "http://second.invalid:1"

// secret is part of every request's token, and of nothing else.
const secret = "c2VjcmV0"

// bubble runs f with a stand in a bubble. Periods count from 10 requests on, 3 good ones promote.
func bubble(t *testing.T, f func(t *testing.T, s *stand)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &stand{answer: after(time.Millisecond, 200)}
		o := Usual(slog.New(slog.NewTextHandler(&s.log, nil)))
		o.Client, o.Rules.GoodPeriods, o.Rules.MinRequests = &http.Client{Transport: s}, 3, 10
		r, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		s.Release = r
		s.handler = r.Wrap(web.HandlerFunc(func(_ context.Context, _ *web.Request, resp *web.Response) {
			resp.Reset()
			resp.Status, resp.ContentType = 200, "application/json"
			resp.Body = append(resp.Body, `{"by":"stable"}`...)
		}))
		f(t, s)
		r.Close()
		if text := s.log.String() + fmt.Sprintf("%+v", r.Status()); strings.Contains(text, secret) {
			t.Errorf("a token is in the log or the status: %s", text)
		}
	})
}

// after answers after a delay.
func after(took time.Duration, status int) func(*http.Request) (*http.Response, error) {
	return func(req *http.Request) (*http.Response, error) {
		select {
		case <-time.After(took):
		case <-req.Context().Done():
			return nil, req.Context().Err()
		}
		return &http.Response{
			StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}},
			Body: io.NopCloser(strings.NewReader(`{"by":"second"}`)),
		}, nil
	}
}

// away fails like a dialler without a listening server.
func away(*http.Request) (*http.Response, error) {
	return nil, &net.OpError{Op: "dial", Err: io.ErrClosedPipe}
}

func (s *stand) RoundTrip(req *http.Request) (*http.Response, error) {
	s.mu.Lock()
	s.asked = append(s.asked, req)
	answer := s.answer
	s.mu.Unlock()
	return answer(req)
}

// answers sets the second version's answer.
func (s *stand) answers(answer func(*http.Request) (*http.Response, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

// seen returns the requests that the second version received.
func (s *stand) seen() []*http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

func (s *stand) serve(ctx context.Context, method string, account int) *web.Response {
	resp := &web.Response{ETag: "left over"}
	s.handler.Serve(ctx, &web.Request{
		Method: method, Path: "/api/v1/order", Query: fmt.Sprint("uid=", account),
		Authorization: token(fmt.Sprintf(`{"sub":"A%d"}`, account)) + secret,
	}, resp)
	return resp
}

// by sends a request and returns the version that has answered it.
func (s *stand) by(t *testing.T, method string, account int) string {
	t.Helper()
	resp := s.serve(t.Context(), method, account)
	by, ok := strings.CutPrefix(string(resp.Body), `{"by":"`)
	if !ok || resp.Status != 200 || resp.ETag == "left over" && !strings.HasPrefix(by, "stable") {
		t.Fatalf("answered %+v", resp)
	}
	return strings.TrimSuffix(by, `"}`)
}

// spend sends a request from each of 2000 accounts, and ends the period. It returns the accounts
// that the second version has answered.
func (s *stand) spend(t *testing.T) map[int]bool {
	t.Helper()
	out := make(map[int]bool)
	for account := range 2000 {
		if s.by(t, "GET", account) == "second" {
			out[account] = true
		}
	}
	time.Sleep(10 * time.Second)
	synctest.Wait()
	return out
}

func begins(t *testing.T, s *stand, mode Mode, share float64) {
	t.Helper()
	if err := s.Start(Plan{URL: target, Mode: mode, Fraction: share}); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
}

func (s *stand) want(t *testing.T, mode Mode, share float64, action Action) {
	t.Helper()
	status := s.Status()
	last := status.Decisions[len(status.Decisions)-1]
	if status.Mode != mode || status.Share != share || last.Action != action {
		t.Fatalf("%s %v, after %+v; want %s %v after %s", status.Mode, status.Share, last, mode, share, action)
	}
	if want := fmt.Sprintf("action=%s by=%s reason=%q", action, last.By, last.Reason); !strings.Contains(s.log.String(), want) {
		t.Errorf("the log lacks %s: %s", want, s.log.String())
	}
}

// A good canary gets a growing share of the accounts, and keeps those that it had.
func TestCanaryIsPromoted(t *testing.T) {
	bubble(t, func(t *testing.T, s *stand) {
		begins(t, s, Canary, 0)
		had := map[int]bool{}
		for _, share := range usual.Stages {
			s.want(t, Canary, share, map[float64]Action{0.01: Start, 0.15: Promote, 1: Promote}[share])
			first := s.spend(t)
			for account := range had {
				if !first[account] {
					t.Errorf("account %d was taken from the second version", account)
				}
			}
			for range 2 {
				if again := s.spend(t); fmt.Sprint(again) != fmt.Sprint(first) {
					t.Errorf("accounts change sides within a stage: %v, %v", first, again)
				}
			}
			had = first
		}
		s.want(t, Canary, 1, Complete)
		if len(had) != 2000 {
			t.Errorf("%d of 2000 accounts are with the second version", len(had))
		}
		if err := s.Promote(); err != errLast {
			t.Errorf("beyond the last stage: %v", err)
		}
	})
}

// A canary that is slow for three periods, or fails, is rolled back by rule: it gets no more
// requests.
func TestCanaryIsRolledBack(t *testing.T) {
	for name, test := range map[string]struct {
		answer  func(*http.Request) (*http.Response, error)
		periods int
	}{
		"slow": {after(125*time.Millisecond, 200), 3}, "failing": {after(0, 500), 1},
		"away": {away, 1}, "hanging": {after(time.Hour, 200), 1},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *stand) {
				s.answers(test.answer)
				begins(t, s, Canary, 0.01)
				for i := range test.periods {
					if mode := s.Status().Mode; mode != Canary {
						t.Fatalf("%s before period %d", mode, i)
					}
					for account := range 2000 {
						s.serve(t.Context(), "GET", account)
					}
					time.Sleep(10 * time.Second)
					synctest.Wait()
				}
				s.want(t, Off, 0, Rollback)
				n := len(s.seen())
				if got := s.spend(t); len(got) > 0 || len(s.seen()) != n {
					t.Errorf("after that, the second version answers %d accounts", len(got))
				}
			})
		})
	}
}

// Clients do not notice requests that the second version fails to answer: the stable one answers
// them, except submissions that may have arrived.
func TestUsersSeeNothing(t *testing.T) {
	for _, test := range []struct {
		name, method string
		answer       func(*http.Request) (*http.Response, error)
		status       int
		errors       int
		rescued      uint64
	}{
		{"read, away", "GET", away, 200, 1, 1},
		{"read, hanging", "GET", after(time.Hour, 200), 200, 1, 1},
		{"read, failing", "GET", after(0, 502), 502, 1, 0},
		{"read, refused", "GET", after(0, 404), 404, 0, 0},
		{"submission, away", "POST", away, 200, 1, 1},
		{"submission, hanging", "POST", after(time.Hour, 200), 503, 1, 0},
		{"neither", "PUT", away, 200, 0, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *stand) {
				s.answers(test.answer)
				begins(t, s, Canary, 1)
				begin := time.Now()
				resp := s.serve(t.Context(), test.method, 1)
				if took := time.Since(begin); took > 2*time.Second {
					t.Errorf("took %v", took)
				}
				if resp.Status != test.status || (resp.Status == 503) != (resp.RetryAfter > 0) {
					t.Errorf("answered %+v", resp)
				}
				if got := s.Status(); got.Period.Second.Errors != test.errors || got.Rescued != test.rescued {
					t.Errorf("%d errors, %d rescued", got.Period.Second.Errors, got.Rescued)
				}
			})
		})
	}
}

// A client that disconnects does not count against the version that was answering it.
func TestClientGoes(t *testing.T) {
	bubble(t, func(t *testing.T, s *stand) {
		s.answers(after(time.Hour, 200))
		begins(t, s, Canary, 1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if resp := s.serve(ctx, "GET", 1); resp.Status != 503 {
			t.Errorf("answered %+v", resp)
		}
		if got := s.Status(); got.Period.Second.Requests != 0 || got.Rescued != 0 {
			t.Errorf("counted: %+v", got)
		}
		s.serve(ctx, "PUT", 1)
		s.serve(t.Context(), "PUT", 1)
		if got := s.Status(); got.Period.Stable.Requests != 1 {
			t.Errorf("of the stable version's, counted: %+v", got.Period.Stable)
		}
	})
}

// A stage's first period has its full length, whenever the stage starts.
func TestPeriodsBeginWithTheStage(t *testing.T) {
	bubble(t, func(t *testing.T, s *stand) {
		s.answers(away)
		time.Sleep(5 * time.Second)
		begins(t, s, Canary, 1)
		for account := range 10 {
			s.by(t, "GET", account)
		}
		time.Sleep(9 * time.Second)
		synctest.Wait()
		s.want(t, Canary, 1, Start)
		time.Sleep(time.Second)
		synctest.Wait()
		s.want(t, Off, 0, Rollback)
	})
}

// When a canary is full, the stable version answers.
func TestCanaryIsFull(t *testing.T) {
	bubble(t, func(t *testing.T, s *stand) {
		s.answers(after(time.Second, 200))
		begins(t, s, Canary, 1)
		for account := range maxCanary {
			go s.serve(t.Context(), "GET", account)
		}
		synctest.Wait()
		if by := s.by(t, "GET", 1); by != "stable" || s.Status().Crowded != 1 {
			t.Errorf("answered by %s, %d crowded", by, s.Status().Crowded)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if by := s.by(t, "GET", 1); by != "second" {
			t.Errorf("with room again: answered by %s", by)
		}
	})
}

// Reads are copied after they were answered, by a bounded number of workers from a bounded queue;
// all are counted.
func TestShadow(t *testing.T) {
	bubble(t, func(t *testing.T, s *stand) {
		s.answers(after(time.Second, 200))
		begins(t, s, Shadow, 1)
		begin := time.Now()
		for account := range maxShadowQueue + shadowWorkers + 10 {
			if by := s.by(t, "GET", account); by != "stable" {
				t.Fatalf("answered by %s", by)
			}
			synctest.Wait() // a worker takes it if one is free
		}
		if by := s.by(t, "POST", 1); by != "stable" || time.Since(begin) > 0 {
			t.Errorf("answered by %s, after %v", by, time.Since(begin))
		}
		if len(s.seen()) != shadowWorkers {
			t.Errorf("%d concurrent copies", len(s.seen()))
		}
		time.Sleep(time.Hour)
		got := s.Status()
		if want := (Compared{Different: maxShadowQueue + shadowWorkers, Dropped: 10}); got.Compared != want {
			t.Errorf("%+v, want %+v", got.Compared, want)
		}
		if len(got.Differences) != maxExamples || got.Differences[0].What != `by: "stable" and "second"` || got.Differences[0].Second != `{"by":"second"}` {
			t.Errorf("%d examples: %+v", len(got.Differences), got.Differences[0])
		}
		if got.Latest.Second.P95 < 990*time.Millisecond || got.Latest.Stable.P95 > time.Millisecond {
			t.Errorf("latencies: %+v", got.Latest)
		}
		if len(got.Decisions) != 1 {
			t.Errorf("decided on a shadow: %+v", got.Decisions)
		}
		for _, req := range s.seen() {
			if req.Method != "GET" || req.Header.Get("Accept-Encoding") != "" {
				t.Fatalf("copied: %+v", req)
			}
		}
	})
}

// A shadow copies its share, and a copy made for one release is not sent to the next.
func TestShadowOfAShare(t *testing.T) {
	bubble(t, func(t *testing.T, s *stand) {
		begins(t, s, Shadow, 0.25)
		for account := range 400 {
			s.by(t, "GET", account)
			time.Sleep(time.Second)
		}
		if n := len(s.seen()); n < 60 || n > 140 { // 4.6 standard deviations
			t.Errorf("%d of 400 were copied", n)
		}
		s.answers(after(time.Second, 200))
		if err := s.Promote(); err != nil {
			t.Fatal(err)
		}
		s.want(t, Canary, 0.01, Promote)
		if got := s.Status().Compared.Different; got != uint64(len(s.seen())) {
			t.Errorf("after the shadow, %d differences are known of", got)
		}
		if err := s.Rollback(); err != nil {
			t.Fatal(err)
		}
		begins(t, s, Shadow, 1)
		for account := range shadowWorkers + 9 {
			s.by(t, "GET", account)
			synctest.Wait()
		}
		if err := s.Rollback(); err != nil {
			t.Fatal(err)
		}
		n := len(s.seen())
		time.Sleep(time.Hour)
		if len(s.seen()) != n {
			t.Errorf("%d copies were sent after the end", len(s.seen())-n)
		}
	})
}

// Answers that are too long are not copied.
func TestLongAnswersAreNotCopied(t *testing.T) {
	bubble(t, func(t *testing.T, s *stand) {
		begins(t, s, Shadow, 1)
		for _, length := range []int{maxCopied, maxCopied + 1} {
			h := s.Wrap(web.HandlerFunc(func(_ context.Context, _ *web.Request, resp *web.Response) {
				resp.Status, resp.Body = 200, make([]byte, length)
			}))
			h.Serve(t.Context(), &web.Request{Method: "GET", Path: "/"}, &web.Response{})
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if got := s.Status().Compared; len(s.seen()) != 1 || got.Dropped != 1 {
			t.Errorf("%d were copied, %d dropped", len(s.seen()), got.Dropped)
		}
	})
}

// Examples are short text, whatever was answered.
func TestExamplesAreShort(t *testing.T) {
	long := &web.Response{Body: bytes.Repeat([]byte("é\xff"), 1000)}
	tally := new(tally)
	tally.note(different, strings.Repeat("ü", 1000), copied{req: &web.Request{Path: strings.Repeat("p", 1000)}, stable: long}, long)
	d := tally.examples[0]
	for _, part := range []string{d.Request, d.What, d.Stable, d.Second} {
		if len(part) > maxShown || part != strings.ToValidUTF8(part, "") || len(part) < maxShown/2 {
			t.Errorf("%d bytes: %q", len(part), part)
		}
	}
}

// Close ends copies in progress and waits for them; afterwards the stable version answers, and
// nothing can be started.
func TestClose(t *testing.T) {
	bubble(t, func(t *testing.T, s *stand) {
		s.answers(after(time.Hour, 200))
		begins(t, s, Shadow, 1)
		s.by(t, "GET", 1)
		synctest.Wait()
		s.Close()
		if by := s.by(t, "GET", 1); by != "stable" || len(s.seen()) != 1 {
			t.Errorf("answered by %s, %d copies", by, len(s.seen()))
		}
		if got := s.Status().Compared; got != (Compared{}) {
			t.Errorf("counted: %+v", got)
		}
		if err := s.Rollback(); err != nil {
			t.Error(err)
		}
		if err := s.Start(Plan{URL: target, Mode: Canary, Fraction: 1}); err == nil {
			t.Error("starts after Close")
		}
	})
}

// Decisions are kept up to a limit; of consecutive periods without a change, only the last.
func TestDecisionsAreBounded(t *testing.T) {
	bubble(t, func(t *testing.T, s *stand) {
		for range maxDecisions {
			begins(t, s, Canary, 1)
			for range 2 {
				for account := range 10 {
					s.by(t, "GET", account)
				}
				time.Sleep(10 * time.Second)
				synctest.Wait()
			}
			if err := s.Rollback(); err != nil {
				t.Fatal(err)
			}
		}
		got := s.Status().Decisions
		if len(got) != maxDecisions {
			t.Errorf("%d are kept", len(got))
		}
		for i, d := range got[len(got)-3:] {
			if want := []Action{Start, Hold, Rollback}[i]; d.Action != want {
				t.Errorf("%d: %+v, want %s", i, d, want)
			}
		}
	})
}

// Without a release a request costs no more than before.
func TestNothingReleased(t *testing.T) {
	r := open(t, Usual(slog.New(slog.DiscardHandler)))
	calls := 0
	h := r.Wrap(web.HandlerFunc(func(context.Context, *web.Request, *web.Response) { calls++ }))
	req, resp := &web.Request{Method: "GET"}, &web.Response{}
	if n := testing.AllocsPerRun(100, func() { h.Serve(t.Context(), req, resp) }); n > 0 || calls != 101 {
		t.Errorf("%v allocations, %d calls", n, calls)
	}
}
