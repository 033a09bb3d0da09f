package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"dyno/lab/probe/procfs"
	"dyno/lab/target"
	"dyno/parts/process"
)

// bench is what stays the same over the pairs.
type bench struct {
	options
	tmp              string
	notifyd, webhook string // programs
	secret           string // that webhooks are signed with, and the receiver knows
}

// The programs, by their packages.
const (
	notifydPackage = "dyno/cmd/notifyd"
	webhookPackage = "dyno/services/notify/bots/webhooks"
)

func newBench(ctx context.Context, o options) (*bench, error) {
	const out = "dyno-out" // on the disk that is worked on: a log in a RAM disk proves nothing
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, err
	}
	tmp, err := os.MkdirTemp(out, "delivery-")
	if err != nil {
		return nil, err
	}
	if tmp, err = filepath.Abs(tmp); err != nil {
		return nil, err
	}
	b := &bench{options: o, tmp: tmp}
	secret := make([]byte, 32)
	rand.Read(secret)
	b.secret = "whsec_" + base64.StdEncoding.EncodeToString(secret)
	for pkg, program := range map[string]*string{notifydPackage: &b.notifyd, webhookPackage: &b.webhook} {
		if *program, err = process.Build(ctx, ".", pkg, filepath.Join(tmp, "bin")); err != nil {
			b.close()
			return nil, err
		}
	}
	return b, nil
}

func (b *bench) close() { os.RemoveAll(b.tmp) }

// side starts a process that sends webhooks to a receiver until it is stopped.
type side func(ctx context.Context, to *receiver) (sender, error)

// sender is that process and what ends it and its load.
type sender struct {
	process *process.Process
	stop    func() error
}

// cpu is the CPU time that it has used, in s.
func (s sender) cpu() (float64, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.process.PID()))
	if err != nil {
		return 0, fmt.Errorf("the CPU time of a process can be read on Linux only: %w", err)
	}
	used, _, err := procfs.ProcessCPU(stat)
	return used, err
}

// inTurn measures sides one after the other, each with a fresh receiver.
func (b *bench) inTurn(ctx context.Context, sides []side) (out []figures, err error) {
	for _, s := range sides {
		f, err := b.measure(ctx, s)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// grace is how long a process may take to end after it was told to: what it still has to do is of no interest.
const grace = 500 * time.Millisecond

func (b *bench) measure(ctx context.Context, s side) (out figures, err error) {
	to, err := b.startReceiver(ctx)
	if err != nil {
		return out, err
	}
	defer to.stop()
	from, err := s(ctx, to)
	if err != nil {
		return out, err
	}
	out, err = to.watch(ctx, b.warmup, b.length, from.cpu)
	if err = errors.Join(err, from.stop()); err != nil {
		return out, err
	}
	return out, to.sound(ctx)
}

// raw posts webhooks with notifyd's own client and signing code.
func (b *bench) raw(ctx context.Context, to *receiver) (sender, error) {
	p, err := target.Start(ctx, process.Spec{Name: "webhooks", ReadyLine: true, Command: []string{b.webhook,
		"--to", to.url, "--secret", b.secret, "--assembly", b.assembly, "--in-flight", strconv.Itoa(b.inFlight),
		"--batch", strconv.Itoa(b.batch), "--payload", strconv.Itoa(b.payload)}})
	if err != nil {
		return sender{}, err
	}
	return sender{p, func() error { return ended(p) }}, nil
}

// service runs notifyd on an empty folder, subscribes the receiver, and feeds it.
func (b *bench) service(assembly string) side {
	return func(ctx context.Context, to *receiver) (sender, error) {
		data, err := os.MkdirTemp(b.tmp, "data-")
		if err != nil {
			return sender{}, err
		}
		p, err := target.Start(ctx, process.Spec{Name: "notifyd", ReadyLine: true, Command: []string{b.notifyd, "serve",
			"--listen", "127.0.0.1:0", "--debug", "127.0.0.1:0", "--log-level", "warn", "--data", data, "--allow-private-targets",
			"--assembly", assembly, "--set", "workers=" + strconv.Itoa(b.inFlight)}})
		if err != nil {
			return sender{}, errors.Join(err, os.RemoveAll(data))
		}
		end := func() error { return errors.Join(ended(p), os.RemoveAll(data)) }
		api := "http://" + p.Ready()["listen"]
		if err := b.subscribe(ctx, api, to.url); err != nil {
			return sender{}, errors.Join(err, end())
		}
		f := newFeeder(api, b.payload, to)
		feeding := f.start(ctx)
		return sender{p, func() error { return errors.Join(feeding(), end()) }}, nil
	}
}

// ended stops a process and says if it had ended by itself.
func ended(p *process.Process) error {
	select {
	case <-p.Exited():
		return fmt.Errorf("it ended while it was measured: %w", errors.Join(p.Err(), errors.New(p.LogTail(5))))
	default:
	}
	p.Stop(grace)
	return nil
}

func (b *bench) subscribe(ctx context.Context, api, url string) error {
	body, err := json.Marshal(map[string]any{"url": url, "secret": b.secret, "concurrency": b.inFlight, "batch": b.batch})
	if err != nil {
		return err
	}
	return post(ctx, http.DefaultClient, api+"/v1/subscriptions", "application/json", body, http.StatusCreated)
}

// maxAnswer is how much of an answer is read.
const maxAnswer = 4 << 20

// post sends a body and expects a status.
func post(ctx context.Context, client *http.Client, url, contentType string, body []byte, want int) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", contentType)
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return err
	}
	if resp.StatusCode != want {
		return fmt.Errorf("POST %s answered %s: %.300s", url, resp.Status, answer)
	}
	return nil
}
