package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// permit decides whether a host beyond loopback may be loaded: that needs --i-may-load-this-host
// once, which is stored in the user's configuration folder.
func (c *common) permit(host string) error {
	dir, err := os.UserConfigDir()
	if err != nil {
		return fmt.Errorf("finding the folder of permitted hosts: %w", err)
	}
	file := filepath.Join(dir, "dyno", "hosts")
	switch {
	case slices.Contains(consented(file), host):
		return nil
	case !c.allowHost:
		return usage("%s is not this machine, and load can harm its other users; if you may load it, add --i-may-load-this-host once", host)
	}
	return remember(file, host)
}

func consented(file string) []string {
	f, err := os.Open(file)
	if err != nil {
		return nil // no host was permitted yet
	}
	defer f.Close()
	var hosts []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		hosts = append(hosts, lines.Text())
	}
	return hosts
}

func remember(file, host string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(f, host); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
