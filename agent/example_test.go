package agent_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"

	"dyno/agent"
	"dyno/agent/profiles"
)

func ExampleNew() {
	mux := http.NewServeMux()
	a := agent.New(agent.Config{Service: "orders"})
	mux.Handle("/debug/dyno/", a)
	profiles.Mount(mux, a)
	a.Gauge("async_queue_depth", func() float64 { return 12 })

	debug := httptest.NewServer(mux) // a service listens on 127.0.0.1:6060, say
	defer debug.Close()
	defer a.Close()

	answer, err := http.Get(debug.URL + agent.PathSamples)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer answer.Body.Close()
	line, err := bufio.NewReader(answer.Body).ReadBytes('\n')
	if err != nil {
		fmt.Println(err)
		return
	}
	var s agent.Sample
	if err := json.Unmarshal(line, &s); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("queue:", s.Gauges["async_queue_depth"], "profiling:", s.Profiling, "goroutines:", s.Goroutines > 0)
	// Output: queue: 12 profiling: false goroutines: true
}
