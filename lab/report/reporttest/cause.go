package reporttest

import (
	"path"
	"strings"

	"dyno/lab/diagnose"
	"dyno/lab/diagnose/findings"
	"dyno/lab/diagnose/rules"
	"dyno/lab/diagnose/stacks"
	"dyno/lab/diagnose/whatif"
	"dyno/lab/record"
)

// sampleStacks are stacks of a made-up service, the root first, and what each takes per request, in
// us and objects of 64 bytes.
var sampleStacks = []struct {
	stack string
	us    float64
	alloc float64
	lock  float64 // us that others waited for it
}{
	{"net/http.(*conn).serve net/http.serverHandler.ServeHTTP dyno/services/notify.(*API).submit dyno/services/notify.(*Dispatcher).Enqueue dyno/parts/queue.(*Ring).Put sync.(*Mutex).Lock sync.(*Mutex).lockSlow", 8, 0, 90},
	{"net/http.(*conn).serve net/http.serverHandler.ServeHTTP dyno/services/notify.(*API).submit dyno/services/notify.(*Dispatcher).Enqueue dyno/parts/queue.(*Ring).Put", 14, 0, 0},
	{"net/http.(*conn).serve net/http.serverHandler.ServeHTTP dyno/services/notify.(*API).submit encoding/json.Unmarshal encoding/json.(*decodeState).object", 52, 21, 0},
	{"net/http.(*conn).serve net/http.serverHandler.ServeHTTP dyno/services/notify.(*API).submit encoding/json.Unmarshal encoding/json.(*decodeState).object runtime.mallocgc runtime.(*mcache).nextFree", 16, 9, 0},
	{"net/http.(*conn).serve net/http.serverHandler.ServeHTTP dyno/services/notify.(*API).submit github.com/google/uuid.NewString", 6, 2, 0},
	{"net/http.(*conn).serve net/http.(*conn).readRequest net/textproto.(*Reader).ReadMIMEHeader", 21, 12, 0},
	{"net/http.(*conn).serve net/http.(*response).finishRequest bufio.(*Writer).Flush internal/poll.(*FD).Write syscall.write", 44, 1, 0},
	{"dyno/services/notify.(*Sender).loop dyno/services/notify.(*Sender).deliver crypto/hmac.(*hmac).Sum crypto/sha256.(*digest).checkSum", 31, 3, 0},
	{"dyno/services/notify.(*Sender).loop dyno/services/notify.(*Sender).deliver net/http.(*Client).Do net/http.(*Transport).roundTrip", 60, 30, 12},
	{"runtime.gcBgMarkWorker runtime.gcDrain runtime.scanobject", 38, 0, 0},
	{"runtime.mcall runtime.schedule runtime.findRunnable runtime.futex", 22, 0, 0},
	{"runtime.mcall runtime.schedule", 0.01, 0, 0}, // too little to be shown alone
}

// folders are where the functions of packages lie.
var folders = map[string]string{
	"net/http": "/usr/local/go/src/net/http/server.go", "encoding/json": "/usr/local/go/src/encoding/json/decode.go",
	"dyno/services/notify": "/src/dyno/services/notify/notify.go", "dyno/parts/queue": "/src/dyno/parts/queue/ring.go",
	"github.com/google/uuid": "/home/me/go/pkg/mod/github.com/google/uuid@v1.6.0/uuid.go",
}

// profiles make the profiles of a run of 10,000 requests; cheaper takes off what the functions
// that hold the text cost.
func profiles(cheaper string, by float64) []*record.Profile {
	const requests = 10_000
	profile := func(valueType string, unit float64, read func(us, alloc, lock float64) float64) *record.Profile {
		p := &record.Profile{Type: valueType, Seconds: 5, Requests: requests}
		for _, s := range sampleStacks {
			v := read(s.us, s.alloc, s.lock) * unit * requests
			if cheaper != "" && strings.Contains(s.stack, cheaper) {
				v *= by
			}
			if v == 0 {
				continue
			}
			stack := record.Stack{Value: v}
			names := strings.Fields(s.stack)
			for i := len(names) - 1; i >= 0; i-- {
				stack.Frames = append(stack.Frames, record.Frame{Function: names[i], File: folders[packagePath(names[i])], Line: 100 + 7*i})
			}
			p.Stacks = append(p.Stacks, stack)
		}
		return p
	}
	return []*record.Profile{
		profile(record.ValueCPU, 1000, func(us, _, _ float64) float64 { return us }),
		profile(record.ValueAllocObjects, 1, func(_, alloc, _ float64) float64 { return alloc }),
		profile(record.ValueAllocBytes, 64, func(_, alloc, _ float64) float64 { return alloc }),
		profile(record.ValueDelay, 1000, func(_, _, lock float64) float64 { return lock }),
	}
}

// AddCause adds the runs of a diagnosis, and what they would show.
func (m *Made) AddCause(variant string, cheaper string, by float64) {
	for _, clients := range []int{1, 8, 32} {
		r := m.AddRun(record.RoleSaturate, variant, 0, m.Limits[variant]*min(1, float64(clients)/8))
		r.Spec.Closed, r.Spec.Connections, r.Load.Model, r.Load.Connections = true, clients, "closed", clients
		r.Totals.Server.GCPauses = []record.PauseBucket{{UpToMs: 0.016, Count: 40}, {UpToMs: 0.032, Count: 160}, {UpToMs: 0.13, Count: 25}, {UpToMs: 9, Count: 3}}
	}
	r := m.AddRun(record.RoleProfile, variant, 0, m.Limits[variant])
	r.Spec.Closed, r.Load.Model, r.Load.Connections = true, "closed", 32
	r.Totals.Response.P99, r.Totals.Delivery.P99 = 777777, 777777 // must never be seen
	r.FixtureProfiles = profiles(cheaper, by)
	m.AddRun(record.RoleIntervene, variant, 0, m.Limits[variant]).Spec.Change = &record.Change{GOGC: 800}
	m.AddRun(record.RoleTraced, variant, 0, m.Limits[variant]*0.9).Stages = []record.Stage{
		{Transaction: "POST /v1/notices", Name: "POST /v1/notices", Count: 9000, Latency: record.Quantiles{P50: 4, P99: 21, Mean: 5}, Self: 0.4},
		{Transaction: "POST /v1/notices", Name: "decode", Depth: 1, Count: 9000, Latency: record.Quantiles{P50: 0.4, P99: 1.1, Mean: 0.5}, Self: 0.5},
		{Transaction: "POST /v1/notices", Name: "enqueue", Depth: 1, Count: 9000, Latency: record.Quantiles{P50: 3.6, P99: 19, Mean: 4.1}, Self: 3.9, Errors: 2},
		{Transaction: "POST /v1/notices", Name: "lock", Depth: 2, Count: 9000, Latency: record.Quantiles{P50: 0.1, P99: 2, Mean: 0.2}, Self: 0.2},
	}
	m.Diagnoses = append(m.Diagnoses, Diagnosis(variant, m.Limits[variant]))
}

// Diagnosis is a verdict with everything that one can hold.
func Diagnosis(variant string, limit float64) diagnose.Diagnosis {
	put := stacks.Site{Function: "dyno/parts/queue.(*Ring).Put", File: "/src/dyno/parts/queue/ring.go", Line: 128, Share: 0.88}
	return diagnose.Diagnosis{
		Variant: variant, Valid: true, Bottleneck: rules.Lock, Kind: "mutex", Also: []rules.Bottleneck{rules.GC}, Sites: []stacks.Site{put},
		Confirmed: true,
		WhatIf:    &whatif.Estimate{Model: whatif.Holder, AtMost: 1.61, Then: "the CPU", Text: "at most 1.61x the throughput; then the CPU bounds it."},
		Text:      "A lock bounds it: at 32 requests in flight 71% of them wait for a mutex at any moment. It is taken in dyno/parts/queue.(*Ring).Put.",
		Headline:  "A lock bounds it: 71% of the requests wait for it at any moment; it is acquired in dyno/parts/queue.(*Ring).Put (ring.go:128).",
		Next:      "do less while the lock is held, or a lock for each part of what it guards (at most 1.61x the throughput)",
		Evidence: []findings.Evidence{
			{Signal: rules.Utilisation, Value: 0.62, Unit: "share", Means: "the CPU is not what is short"},
			{Signal: rules.LockWait, Value: 0.71, Unit: "share", Means: "of 32 requests in flight, 23 wait for a mutex at any time"},
		},
		Interventions: []diagnose.Intervention{
			{Changed: "GOGC 100 to 800", Predicted: "no more throughput: it does not collect", Saw: "1.01x", Held: true},
			{Changed: "GOMAXPROCS 2 to 1", Predicted: "the same throughput", Saw: "0.71x"},
		},
		Findings: []findings.Finding{
			{Kind: "contention", Text: "Waits for the ring's mutex take 90 us of a request.", Sites: []stacks.Site{put}, Profile: record.ProfileMutex,
				Evidence: []findings.Evidence{{Signal: "mean_wait", Value: 90, Unit: "us", Means: "1.2 waits a request"}}, Next: "dyno compare scenarios/notify.yaml --a baseline --b sharded",
				WhatIf: &whatif.Estimate{Model: whatif.Holder, AtMost: 1.61, Then: "the CPU", Text: "at most 1.61x the throughput; then the CPU bounds it."}},
			{Kind: "allocations", Text: "Decoding allocates 30 objects a request.", Profile: record.ProfileHeap, Next: "Decode into a struct that is used again.",
				Sites: []stacks.Site{{Function: "encoding/json.(*decodeState).object", File: "/usr/local/go/src/encoding/json/decode.go", Line: 128, Share: 0.4}}},
			{Kind: "goroutine-leak", Text: "The stacks of no function kept growing.", Next: "Nothing to do.",
				WhatIf: &whatif.Estimate{Model: whatif.None, Missing: "its cost for each request", Text: "unknown, since a figure is missing: its cost for each request."}},
		},
		CapacityPerS: limit, PeakPerS: limit * 1.1,
		Unseen:   []string{"cache misses: perf_event_paranoid is 3 here; at 1 they would be counted"},
		Warnings: []string{"the machine has 2 cores: generator and service shared them"},
		Signals:  rules.Signals{rules.Utilisation: 0.62, rules.Waiting: 0.78},
	}
}

// Diagnose is one service that was looked into.
func Diagnose() *Made {
	m := New(record.KindDiagnose, "p99=60ms,errors=0.1%")
	m.AddVariant("notify", "", "", 9800)
	for _, share := range []float64{0.25, 0.5, 0.9, 1.1} {
		m.AddRun(record.RoleSearch, "notify", 0, 9800*share)
	}
	m.AddCause("notify", "", 1)
	return m
}

// Undiagnosed is a service without a verdict.
func Undiagnosed() *Made {
	m := Diagnose()
	m.Outcome = &record.Outcome{Status: record.OutcomeInvalid, Reason: "the load generator was the limit"}
	m.Diagnoses[0] = diagnose.Diagnosis{Variant: "notify", Reason: "the load generator was the limit", Bottleneck: rules.Generator,
		Text: "The load generator is the limit, not the service: its busiest thread used 93% of a core."}
	return m
}

// Why is a short ladder whose steps were looked into.
func Why() *Made {
	m := New(record.KindLadder, "delivery,p99=100ms,errors=0.1%")
	add := m.byTurns()
	add("baseline", "the plain program", "", 3100, 310)
	add("decode", "bodies are decoded once", "", 3900, 250)
	add("lock-free", "a ring without a lock", "", 3950, 247)
	m.turnsOf()
	m.AddCause("baseline", "", 1)
	m.AddCause("decode", "encoding/json", 0.4)
	m.AddCause("lock-free", "sync.(*Mutex)", 0)
	m.Diagnoses[0].Bottleneck, m.Diagnoses[0].Kind, m.Diagnoses[0].Also = rules.CPU, "", nil
	m.Diagnoses[0].Signals = rules.Signals{rules.Utilisation: 0.97, rules.Waiting: 0.12}
	m.Diagnoses[0].Text = "The CPU bounds it: it uses 1.94 of the 2 cores it could have had."
	m.Diagnoses[1].Moved = "It moved because the service was bound by its CPU and now spends 41 us less of it per request."
	m.Diagnoses[1].Signals = rules.Signals{rules.Utilisation: 0.95, rules.Waiting: 0.14}
	m.Diagnoses[2].Moved = "It did not move: the lock that it removes was not what bound the service."
	delete(m.Diagnoses[2].Signals, rules.Waiting)
	return m
}

// packagePath is the import path in a function's name.
func packagePath(function string) string {
	dir, name := path.Split(function)
	name, _, _ = strings.Cut(name, ".")
	return dir + name
}
