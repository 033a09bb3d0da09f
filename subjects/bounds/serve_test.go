package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"dyno/subjects/bounds/suite"
)

const (
	clients = 8
	each    = 3 // requests of a client
)

// inTests are servers that tests run with smaller parameters: the drawn ones would take hundreds of
// MB.
var inTests = map[string]func() (*suite.Service, error){
	"liveheap": func() (*suite.Service, error) {
		s := newSessionStore(1000, 64)
		return suite.ServingUntil("GET /recent", s.show, s.close), nil
	},
}

func TestEveryServerAnswersManyAtOnce(t *testing.T) {
	for _, e := range servers {
		t.Run(e.Name, func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			d := suite.NewDraw(7, e.Name)
			start := e.Plan(d)
			if other := inTests[e.Name]; other != nil {
				start = other
			}
			s, err := start()
			if err != nil {
				t.Fatal(err)
			}
			srv := httptest.NewUnstartedServer(s.Handler)
			if s.Accept != nil {
				srv.Listener = s.Accept(srv.Listener)
			}
			srv.Start()
			answers := askAll(t, e, srv)
			srv.Close()
			s.Close()
			if check := checks[e.Name]; check != nil {
				check(t, answers, d.Values)
			} else {
				t.Errorf("nothing is said about its answers, as in %q", answers[0])
			}
		})
	}
}

// askAll returns all answers, sorted.
func askAll(t *testing.T, e suite.Entry, srv *httptest.Server) []string {
	var mu sync.Mutex
	var answers []string
	var asking sync.WaitGroup
	for range clients {
		asking.Go(func() {
			for range each {
				answer, err := ask(e, srv)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				answers = append(answers, answer)
				mu.Unlock()
			}
		})
	}
	asking.Wait()
	if t.Failed() {
		t.FailNow()
	}
	slices.Sort(answers)
	return answers
}

func ask(e suite.Entry, srv *httptest.Server) (string, error) {
	r, err := http.NewRequest(e.Method, srv.URL+e.Path, strings.NewReader(strings.Repeat("x", e.BodyBytes)))
	if err != nil {
		return "", err
	}
	answer, err := srv.Client().Do(r)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", answer.Status, body)
	}
	return string(body), err
}

type check func(t *testing.T, answers []string, drawn map[string]int)

// checks are the known properties of the answers to clients*each requests.
var checks = map[string]check{
	"hash": func(t *testing.T, answers []string, drawn map[string]int) {
		sum := stretch(bytes.Repeat([]byte("x"), 1024), drawn["rounds"])
		all(func(map[string]int) string { return fmt.Sprintf("%x", sum) })(t, answers, drawn)
	},
	"render": func(t *testing.T, answers []string, drawn map[string]int) {
		var products []struct{ ID int }
		if err := json.Unmarshal([]byte(answers[0]), &products); err != nil || len(products) != drawn["products"] {
			t.Errorf("%d products, %v", len(products), err)
		}
		same(t, answers, drawn)
	},
	"regexp":         same,
	"sort":           same,
	"mutex-work":     numbered("entry %d\n"),
	"mutex-block":    numbered("note %d\n"),
	"mutex-short":    all(func(map[string]int) string { return "counted\n" }),
	"rwmutex-writer": like("%x\n", new([]byte)),
	"pool-sql":       all(func(map[string]int) string { return "item q" }),
	"pool-channel":   like("trip %d\n", new(int)),
	"downstream":     same,
	"downstream-busy": func(t *testing.T, answers []string, drawn map[string]int) {
		if !strings.HasPrefix(answers[0], "our offer: price of lamp: ") {
			t.Errorf("%q", answers[0])
		}
		same(t, answers, drawn)
	},
	"downstream-timeout": same,
	"downstream-fanout":  same,
	"consumer":           like("printed %x\n", new([]byte)),
	"consumer-untraced":  all(func(map[string]int) string { return "entered\n" }),
	"churn":              same,
	"strings":            same,
	"liveheap":           all(func(map[string]int) string { return "64 sessions\n" }),
	"fsync":              numbered("record %d\n"),
	"fsync-writer":       all(func(map[string]int) string { return "noted\n" }),
	"timer": func(t *testing.T, answers []string, drawn map[string]int) {
		bags := map[string]int{}
		for _, a := range answers {
			if bags[a]++; bags[a] > drawn["batch"] {
				t.Errorf("more than %d went with one bag: %s", drawn["batch"], a)
			}
		}
	},
	"ratelimit":      all(func(map[string]int) string { return "welcome\n" }),
	"files":          all(func(d map[string]int) string { return fmt.Sprintf("%d bytes\n", d["files"]*d["file_bytes"]) }),
	"pipe":           all(func(d map[string]int) string { return fmt.Sprintf("%d blocks\n", d["times"]) }),
	"mixed-cpu-gc":   same,
	"mixed-lock-cpu": like("stored as %d\n", new(int)),
	"accept":         all(func(map[string]int) string { return "hello\n" }),
	"client-slow": func(t *testing.T, answers []string, drawn map[string]int) {
		if lines := strings.Count(answers[0], "\n"); lines != drawn["chunks"] || !strings.HasPrefix(answers[0], "0\n1\n2\n") {
			t.Errorf("%d prices, beginning with %.10q", lines, answers[0])
		}
		same(t, answers, drawn)
	},
	"neighbour": like("%x\n", new([]byte)),
	"paced":     like("%x\n", new([]byte)),
	"thinking":  like("%x\n", new([]byte)),
}

// all expects one answer.
func all(want func(drawn map[string]int) string) check {
	return func(t *testing.T, answers []string, drawn map[string]int) {
		for _, a := range answers {
			if a != want(drawn) {
				t.Fatalf("%q, want %q", a, want(drawn))
			}
		}
	}
}

// same expects that all answers are equal, and not empty.
func same(t *testing.T, answers []string, _ map[string]int) {
	if answers[0] == "" || answers[0] != answers[len(answers)-1] {
		t.Errorf("answers differ: %.80q, %.80q", answers[0], answers[len(answers)-1])
	}
}

// like expects answers of a form.
func like(format string, into any) check {
	return func(t *testing.T, answers []string, _ map[string]int) {
		for _, a := range answers {
			if n, err := fmt.Sscanf(a, format, into); n != 1 || err != nil {
				t.Fatalf("%q is not like %q: %v", a, format, err)
			}
		}
	}
}

// numbered expects that every number from 1 was given once.
func numbered(format string) check {
	return func(t *testing.T, answers []string, _ map[string]int) {
		for n := range clients * each {
			if want := fmt.Sprintf(format, n+1); !slices.Contains(answers, want) {
				t.Errorf("no client received %q", want)
			}
		}
	}
}

func TestVisitsAreAllCounted(t *testing.T) {
	v := &visitors{counters: 3, each: 100}
	for range 4 {
		v.visit(httptest.NewRecorder(), nil)
	}
	if v.total != 1200 || v.pages[0] != 4*3*7 {
		t.Errorf("%d visits, %d of page 0", v.total, v.pages[0])
	}
}
