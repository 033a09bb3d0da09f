package windows

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/pflag"
)

// standIn takes k6's arguments, and prints the stream of k6's output "json" for the requests of
// testdata/script.js.
func standIn(args []string) int {
	f := pflag.NewFlagSet("k6", pflag.ContinueOnError)
	users, length, env := f.Int("vus", 1, ""), f.Duration("duration", 0, ""), f.StringArrayP("env", "e", nil, "")
	out, _ := f.String("out", "", ""), f.Bool("quiet", false, "")
	tags := f.String("system-tags", "", "")
	if err := f.Parse(args); err != nil || f.NArg() != 2 || f.Arg(0) != "run" || *out != "json=-" || *tags == "" {
		fmt.Fprintln(os.Stderr, "k6:", err, args)
		return 104
	}
	var base, pause string
	for _, e := range *env {
		fmt.Sscanf(e, "BASE_URL=%s", &base)
		fmt.Sscanf(e, "PAUSE=%s", &pause)
	}
	seconds, err := strconv.ParseFloat(pause, 64)
	if _, missing := os.Stat(f.Arg(1)); err != nil || missing != nil {
		fmt.Fprintln(os.Stderr, "k6:", err, missing)
		return 107
	}
	stopped := make(chan os.Signal, 1)
	signal.Notify(stopped, syscall.SIGTERM, syscall.SIGINT)
	p := &points{w: bufio.NewWriter(os.Stdout)}
	p.get(base+"/setup", "::setup", "")
	end := time.Now().Add(*length)
	for user := range *users {
		go func() {
			for time.Now().Before(end) {
				p.get(base+"/found", "", strconv.Itoa(user+1))
				p.get(base+"/missing", "", strconv.Itoa(user+1))
				time.Sleep(time.Duration(seconds * float64(time.Second)))
			}
		}()
	}
	select {
	case <-stopped:
	case <-time.After(*length):
	}
	p.mu.Lock() // no further points are added
	p.w.Flush()
	fmt.Println("     http_reqs......................: 100    10/s")
	return 0
}

// points prints the points of requests.
type points struct {
	mu sync.Mutex
	w  *bufio.Writer
}

func (p *points) get(url, group, user string) {
	began := time.Now()
	answer, err := http.Get(url)
	done := time.Now()
	tags := map[string]string{"group": group, "status": "0", "expected_response": "false", "error_code": "1212"}
	if err == nil {
		answer.Body.Close()
		tags["status"], tags["expected_response"] = strconv.Itoa(answer.StatusCode), strconv.FormatBool(answer.StatusCode < 400)
		if delete(tags, "error_code"); answer.StatusCode >= 400 {
			tags["error_code"] = strconv.Itoa(1000 + answer.StatusCode)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	enc := json.NewEncoder(p.w)
	for _, of := range []struct {
		metric string
		value  float64
	}{{"http_reqs", 1}, {"http_req_duration", float64(done.Sub(began)) / 1e6}, {"http_req_blocked", 0.1}, {"http_req_failed", 0}} {
		data := map[string]any{"time": done, "value": of.value, "tags": tags}
		if user != "" {
			data["metadata"] = map[string]string{"vu": user}
		}
		if enc.Encode(map[string]any{"metric": of.metric, "type": "Point", "data": data}) != nil {
			return
		}
	}
}
