package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/gorilla/websocket"
	"go.uber.org/goleak"

	"dyno/lab/load"
	"dyno/lab/load/windows"
	"dyno/lab/record"
	"dyno/parts/process/processtest"
	"dyno/parts/quicktest"
	"dyno/services/arena/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pretend serves rooms as Colyseus does: a state answers each input, and one without changes
// follows it.
func pretend(t *testing.T) (url string) {
	t.Helper()
	serve := http.NewServeMux()
	serve.HandleFunc("POST /matchmake/joinOrCreate/{room}", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("room") != "inputs" {
			http.Error(w, `{"error":"no such room"}`, http.StatusBadRequest)
			return
		}
		io.WriteString(w, `{"name":"inputs","sessionId":"s-1","roomId":"r_1","processId":"p-1"}`)
	})
	serve.HandleFunc("GET /p-1/r_1", func(w http.ResponseWriter, r *http.Request) {
		var upgrader websocket.Upgrader
		c, err := upgrader.Upgrade(w, r, nil)
		if err != nil || r.URL.Query().Get("sessionId") != "s-1" {
			t.Errorf("%v: %v", r.URL, err)
			return
		}
		defer c.Close()
		c.WriteMessage(websocket.BinaryMessage, []byte{codeJoin, 1, 't', 6, 's', 'c', 'h', 'e', 'm', 'a', 0})
		if _, answer, err := c.ReadMessage(); err != nil || !bytes.Equal(answer, []byte{codeJoin}) {
			t.Errorf("the answer to JOIN is %q, %v", answer, err)
			return
		}
		c.WriteMessage(websocket.BinaryMessage, []byte{codeState | codeTimed, 0, 0, 0, 0, 0, 0, 0, 0, 9, 9})
		for inputs := uint32(1); ; inputs++ {
			_, input, err := c.ReadMessage()
			if err != nil {
				return
			}
			if len(input) == 0 || input[0] != codeInput || len(input)%2 != 1 || inputs == 1 && len(input) != 7 {
				t.Errorf("input %d is %q", inputs, input)
			}
			patch := binary.LittleEndian.AppendUint32([]byte{codePatch | codeTimed, 1, 2, 3, 4}, inputs)
			c.WriteMessage(websocket.BinaryMessage, append(patch, "a change"...))
			c.WriteMessage(websocket.BinaryMessage, patch)
		}
	})
	server := httptest.NewServer(serve)
	t.Cleanup(server.Close)
	return server.URL
}

// Players are acknowledged, and all bytes of the socket are counted.
func TestPlay(t *testing.T) {
	o := options{service: colyseus, url: pretend(t), room: "inputs", motion: "random", players: 3, rate: 30, duration: 500 * time.Millisecond}
	f, err := o.play(t.Context(), &cpuClock{})
	if err != nil || f.Players != 3 || f.Frames <= 0 || f.Acked <= 0 {
		t.Fatalf("%+v: %v", f, err)
	}
	const each = (2 + 17 + 2 + 9) / 2 // of an input's two states, with their heads
	if got := f.Bytes / f.Frames; got < 0.9*each || got > 1.1*each {
		t.Errorf("%v bytes for each frame, about %d were sent: %+v", got, each, f)
	}
	var out bytes.Buffer
	if err := o.run(t.Context(), "bots", &out); err != nil || !strings.Contains(out.String(), `"schema": "dyno.load/1"`) {
		t.Errorf("%v, %s", err, &out)
	}
}

// Bots print windows for the lab.
func TestWindows(t *testing.T) {
	o := options{service: colyseus, url: pretend(t), room: "inputs", motion: "keyboard", players: 2, rate: 30, duration: time.Minute, windows: true}
	ctx, stop := context.WithCancel(t.Context())
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := o.run(ctx, "bots", w)
		w.CloseWithError(err)
		ended <- err
	}()
	plan := load.Plan{Length: time.Minute, Connections: 1}
	seen := &sink{enough: stop}
	_, _, err := load.Run(t.Context(), plan, windows.New("bots", r), seen)
	if <-ended; seen.frames == 0 {
		t.Errorf("no window has frames: %v", err)
	}
}

type sink struct {
	frames int64
	enough func()
}

func (s *sink) Window(w record.Window, _ map[string]*hdrhistogram.Histogram) error {
	if s.frames += w.Client.Frames; s.frames > 10 {
		s.enough()
	}
	return nil
}

func TestErrors(t *testing.T) {
	o := options{service: colyseus, url: pretend(t), room: "inputs", motion: "random", players: 1, rate: 30, duration: time.Second}
	for _, c := range []struct {
		command string
		change  func(*options)
		want    string
	}{
		{"", func(*options) {}, "install, serve"},
		{"bots", func(o *options) { o.players = 0 }, "-n 0"},
		{"bots", func(o *options) { o.motion = "x" }, "neither keyboard nor random"},
		{"bots", func(o *options) { o.service = "x" }, "colyseus and arenad"},
		{"bots", func(o *options) { o.service, o.subprotocol = arenad, "x" }, "subprotocol"},
		{"bytes", func(o *options) { o.program = t.TempDir() }, "make rivals"},
		{"serve", func(o *options) { o.program = t.TempDir() }, "make rivals"},
	} {
		o := o
		c.change(&o)
		if err := o.run(t.Context(), c.command, io.Discard); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %+v: %v", c.command, o, err)
		}
	}
	o.room = "x"
	if f, err := o.play(t.Context(), &cpuClock{}); err == nil || !strings.Contains(err.Error(), "did not join") {
		t.Errorf("%+v, %v", f, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{codePatch | codeTimed, 1, 2, 3})
	f.Add([]byte{codePatch | codeTimed, 1, 2, 3, 4, 5, 6, 7, 8, 9})
	f.Add([]byte{codeError, 1})
	f.Fuzz(func(t *testing.T, message []byte) {
		got, err := parse(message)
		if err == nil && got.code != message[0]&codeBits || got.acked != 0 && len(message) < timedBytes {
			t.Errorf("%q is %+v, %v", message, got, err)
		}
	})
}

// The real server takes inputs and messages, moves the players, and acknowledges inputs; arenad is
// played in the same way.
func TestColyseus(t *testing.T) {
	quicktest.Skip(t, "installs packages from npm")
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("no npm in PATH, so Colyseus is not tried; on Debian: apt-get install npm")
	}
	var builds processtest.Builds
	defer builds.Remove()
	o := options{program: filepath.Join(t.TempDir(), "colyseus"), arenad: builds.Program(t, "dyno/services/cmd/arenad"), subprotocol: wire.Bits,
		room: "inputs", motion: "random", players: 60, rate: 30, duration: 1500 * time.Millisecond}
	if err := o.run(t.Context(), "install", io.Discard); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := o.run(t.Context(), "bytes", &out); err != nil {
		t.Fatal(err)
	}
	var of, beside figures
	lines := json.NewDecoder(&out)
	if err := errors.Join(lines.Decode(&of), lines.Decode(&beside)); err != nil {
		t.Fatal(err)
	}
	if of.Frames <= 0 || of.Acked <= 0 || beside.Server != arenad || beside.Frames <= 0 || beside.Acked <= 0 {
		t.Errorf("%+v, %+v", of, beside)
	}
	o.service, o.room = colyseus, "messages"
	unacknowledged, err := o.measure(t.Context())
	if err != nil || unacknowledged.Frames <= 0 || unacknowledged.Acked != 0 {
		t.Errorf("%+v, %v", unacknowledged, err)
	}
	// A state of 50 players takes at most 700 bytes, and one that only acknowledges 11.
	for _, f := range []figures{of, unacknowledged} {
		if perFrame := f.Bytes / f.Frames; perFrame <= 11 || perFrame > 700 {
			t.Errorf("%+v: %v bytes a frame", f, perFrame)
		}
	}
}
