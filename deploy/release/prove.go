package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// prove installs programs, all unless some are named by their folder, at a tagged version: with go
// install, in an empty folder, from a proxy made of the tags. A program must then print the
// version.
func prove(clone, version string, only []string) error {
	modPath, err := checkRelease(clone, version)
	if err != nil {
		return err
	}
	if len(only) == 0 {
		only = programs
	}
	for _, p := range only {
		if !slices.Contains(programs, p) {
			return fmt.Errorf("%s is none of %s", p, strings.Join(programs, ", "))
		}
	}
	temporary, err := os.MkdirTemp("", "dyno-proof-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	env, err := proxied(clone, modPath, version, temporary)
	if err != nil {
		return err
	}
	// Downloaded modules are read-only, and these must not stay in the cache of all modules: the
	// version that is published may still become another.
	defer output(temporary, env, "go", "clean", "-modcache")
	for _, p := range only {
		if _, err := output(filepath.Join(temporary, "empty"), env, "go", "install", modPath+"/"+p+"@"+version); err != nil {
			return err
		}
		said, err := output(temporary, nil, filepath.Join(temporary, "bin", path.Base(p)), "version")
		if err != nil {
			return err
		}
		if !strings.HasPrefix(said, path.Base(p)+" "+version+" ") {
			return fmt.Errorf("%s version prints %q, not %s", path.Base(p), said, version)
		}
		fmt.Print(said)
	}
	return nil
}

// proxied makes a proxy of the tagged modules below a folder and returns the variables of the go
// command that use it: other modules come from the cache of this machine, or from where the go
// command has them from.
func proxied(clone, modPath, version, below string) ([]string, error) {
	files, err := tracked(clone)
	if err != nil {
		return nil, err
	}
	proxy := filepath.Join(below, "proxy")
	for _, name := range goMods(files) {
		if err := serve(proxy, clone, modPath, path.Dir(name), version); err != nil {
			return nil, err
		}
	}
	if err := os.Mkdir(filepath.Join(below, "empty"), 0o755); err != nil {
		return nil, err
	}
	configured, err := output(clone, nil, "go", "env", "GOMODCACHE", "GOPROXY")
	if err != nil {
		return nil, err
	}
	cache, others, _ := strings.Cut(strings.TrimSpace(configured), "\n")
	return []string{
		"GOPROXY=file://" + filepath.ToSlash(proxy) + ",file://" + filepath.ToSlash(filepath.Join(cache, "cache", "download")) + "," + others,
		"GONOSUMDB=" + modPath + "," + modPath + "/*", "GOSUMDB=off", "GOWORK=off", "GOFLAGS=-mod=mod -trimpath",
		"GOMODCACHE=" + filepath.Join(below, "modules"), "GOBIN=" + filepath.Join(below, "bin"),
	}, nil
}

// serve adds a module to a proxy on disk, in the form of https://go.dev/ref/mod#goproxy-protocol.
func serve(proxy, clone, modPath, dir, version string) error {
	m := module.Version{Path: path.Join(modPath, dir), Version: version}
	escaped, err := module.EscapePath(m.Path)
	if err != nil {
		return err
	}
	at := filepath.Join(proxy, filepath.FromSlash(escaped), "@v")
	if err := os.MkdirAll(at, 0o755); err != nil {
		return err
	}
	tag := path.Join(dir, version)
	goMod, err := output(clone, nil, "git", "show", tag+":"+path.Join(dir, "go.mod"))
	if err != nil {
		return err
	}
	archive, err := os.Create(filepath.Join(at, version+".zip"))
	if err != nil {
		return err
	}
	defer archive.Close()
	if err := zip.CreateFromVCS(archive, m, clone, tag, strings.TrimPrefix(dir, ".")); err != nil {
		return fmt.Errorf("making a zip of %s: %w", m, err)
	}
	for name, text := range map[string]string{
		"list": version + "\n", version + ".mod": goMod,
		version + ".info": fmt.Sprintf(`{"Version": %q, "Time": %q}`, version, time.Unix(0, 0).UTC().Format(time.RFC3339)),
	} {
		if err := os.WriteFile(filepath.Join(at, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
