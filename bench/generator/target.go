package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// target is the running subject.
type target struct{ url string }

// startEcho builds subjects/echo and starts it in a process of its own.
func startEcho(ctx context.Context) (t target, stop func(), err error) {
	dir, err := os.MkdirTemp("", "generator-")
	if err != nil {
		return target{}, nil, err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(dir)
		}
	}()
	program := filepath.Join(dir, "echo")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", program, "dyno/subjects/echo").CombinedOutput(); err != nil {
		return target{}, nil, fmt.Errorf("building subjects/echo (run this inside the repository): %w\n%s", err, out)
	}
	cmd := exec.Command(program, "--listen", "127.0.0.1:0")
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return target{}, nil, err
	}
	if err := cmd.Start(); err != nil {
		return target{}, nil, fmt.Errorf("starting subjects/echo: %w", err)
	}
	stop = func() {
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
		os.RemoveAll(dir)
	}
	var ready struct {
		Listen string `json:"listen"`
	}
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err = errors.Join(err, json.Unmarshal(line, &ready)); err != nil {
		stop()
		return target{}, nil, fmt.Errorf("waiting for subjects/echo: %w", err)
	}
	return target{"http://" + ready.Listen + "/"}, stop, nil
}

// describe prints what the figures belong to.
func describe(ctx context.Context, t target) error {
	wrk := "not installed"
	if out, _ := exec.CommandContext(ctx, "wrk", "-v").CombinedOutput(); len(out) > 0 { // it exits 1
		wrk, _, _ = strings.Cut(string(out), " Copyright")
	}
	fmt.Printf("machine: %s, %d cores (%s/%s)\nkernel:  %s\nversions: %s, %s\ntarget:  subjects/echo at %s, %d connections\n\n",
		cpuName(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, kernel(ctx), runtime.Version(), wrk, t.url, connections)
	return ctx.Err()
}

func cpuName() string {
	info, _ := os.ReadFile("/proc/cpuinfo")
	_, rest, _ := bytes.Cut(info, []byte("model name"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	if name := strings.Trim(string(line), "\t :"); name != "" {
		return name
	}
	return "unknown CPU"
}

func kernel(ctx context.Context) string {
	out, _ := exec.CommandContext(ctx, "uname", "-sr").Output()
	return strings.TrimSpace(string(out))
}
