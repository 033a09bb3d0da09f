package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
)

// client is a program that sends requests, used in one way.
type client struct {
	program, how string
	version      func(ctx context.Context) (string, error)
	send         func(ctx context.Context, url string) error
}

const body = `{"a":1}`

// clients are those of the recorder, apart from proxies.
func (p programs) clients() []client {
	all := []client{
		p.curl("", nil, []string{"-d", body}),
		p.curl("chunks", nil, []string{"-H", "Transfer-Encoding: chunked", "-d", body}),
		p.curl("Expect", nil, []string{"-H", "Expect: 100-continue", "-d", body}),
		p.curl("asks for HTTP/2", []string{"--http2"}, []string{"-d", body}),
		{"Go net/http", "", goVersion, func(ctx context.Context, url string) error { return goClient(ctx, url, strings.NewReader(body)) }},
		{"Go net/http", "a body of unknown length", goVersion, func(ctx context.Context, url string) error {
			return goClient(ctx, url, io.MultiReader(strings.NewReader(body)))
		}},
	}
	for _, name := range []string{"node fetch", "node fetch, stream", "undici", "axios", "viem", "ethers"} {
		all = append(all, p.script(name, p.js, "node", "clients.mjs"))
	}
	for _, name := range []string{"requests", "httpx", "aiohttp", "urllib3"} {
		all = append(all, p.script(name, "", p.python, "clients.py"))
	}
	for _, name := range []string{"java.net.http", "java.net.http, stream", "OkHttp", "Apache HttpClient"} {
		all = append(all, p.script(name, "", "java", "-cp", filepath.Join(p.jars, "*"), "Clients.java"))
	}
	return all
}

func (p programs) curl(how string, common, post []string) client {
	run := func(ctx context.Context, url string, args ...string) error {
		_, err := output(ctx, "", "curl", append(append([]string{"-sS", "-o", os.DevNull, "-H", "Authorization: Bearer TOKEN", url}, common...), args...)...)
		return err
	}
	return client{"curl", how, versionOf(`^curl ([0-9.]+)`, "curl", "--version"), func(ctx context.Context, url string) error {
		if len(common) > 0 || how == "" {
			if err := run(ctx, url); err != nil {
				return err
			}
		}
		return run(ctx, url, append([]string{"-H", "Content-Type: application/json"}, post...)...)
	}}
}

func goVersion(context.Context) (string, error) {
	return strings.TrimPrefix(runtime.Version(), "go"), nil
}

func goClient(ctx context.Context, url string, body io.Reader) error {
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: false}}
	defer c.CloseIdleConnections()
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		r, err := http.NewRequestWithContext(ctx, method, url, nil)
		if err != nil {
			return err
		}
		if r.Header.Set("Authorization", "Bearer TOKEN"); method == http.MethodPost {
			r.Header.Set("Content-Type", "application/json")
			if r.Body, r.ContentLength = io.NopCloser(body), -1; fmt.Sprintf("%T", body) == "*strings.Reader" {
				r.ContentLength = int64(body.(*strings.Reader).Len())
			}
		}
		resp, err := c.Do(r)
		if err != nil {
			return err
		}
		resp.Body.Close()
	}
	return nil
}

// script is a client of one of the scripts in assets, which also prints its version.
func (p programs) script(name, dir, program string, args ...string) client {
	program1, how, _ := strings.Cut(name, ", ")
	args[len(args)-1] = filepath.Join(p.assets, args[len(args)-1])
	args = append(args, name)
	return client{program1, how,
		func(ctx context.Context) (string, error) {
			text, err := output(ctx, dir, program, args...)
			return strings.TrimSpace(text), err
		},
		func(ctx context.Context, url string) error {
			_, err := output(ctx, dir, program, append(args[:len(args):len(args)], url)...)
			return err
		}}
}

// versionOf finds a program's version in what a command prints.
func versionOf(pattern string, program string, args ...string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		text, err := output(ctx, "", program, args...)
		if err != nil {
			return "", err
		}
		found := regexp.MustCompile(`(?m)` + pattern).FindStringSubmatch(text)
		if found == nil {
			return "", fmt.Errorf("%s prints no version: %.100s", program, text)
		}
		return found[1], nil
	}
}

// output runs a command and returns all that it prints.
func output(ctx context.Context, dir, program string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, program, args...)
	c.Dir = dir
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Run(); err != nil {
		return "", fmt.Errorf("%s: %w: %.500s", program, err, out.String())
	}
	return out.String(), nil
}
