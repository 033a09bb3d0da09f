package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/format"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
)

// rename rewrites the module path of a clone. Renaming back restores every byte.
func rename(clone, to string) error {
	from, err := modulePath(clone)
	if err != nil {
		return err
	}
	if err := checkPath(to); err != nil {
		return err
	}
	if to == from {
		fmt.Printf("the module path is %s already\n", to)
		return nil
	}
	if err := committed(clone); err != nil {
		return err
	}
	files, err := tracked(clone)
	if err != nil {
		return err
	}
	r := rewriter{from: from, to: to, packages: packageFolders(files)}
	changed := map[string][]byte{}
	for _, file := range files {
		name := filepath.Join(clone, file)
		if info, err := os.Lstat(name); err != nil || !info.Mode().IsRegular() {
			continue
		}
		old, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if bytes.IndexByte(old, 0) >= 0 {
			continue // not a text
		}
		text, err := r.file(file, old)
		if err != nil {
			return err
		}
		if !bytes.Equal(text, old) {
			changed[file] = text
		}
	}
	for file, text := range changed {
		if err := os.WriteFile(filepath.Join(clone, file), text, 0o644); err != nil { // keeps the mode of a file that exists
			return fmt.Errorf("%w; git checkout . undoes the rewriting", err)
		}
	}
	fmt.Printf("%s is %s now, in %d files; git diff shows them. The program is still called dyno.\n", from, to, len(changed))
	if first, _, _ := strings.Cut(to, "/"); !strings.Contains(first, ".") {
		fmt.Printf("go install cannot fetch it: that needs a path such as github.com/you/dyno\n")
	}
	return nil
}

var majorVersion = regexp.MustCompile(`[/.]v[0-9]+$`)

func checkPath(to string) error {
	if err := module.CheckImportPath(to); err != nil {
		return fmt.Errorf("%w; a path is like github.com/you/dyno", err)
	}
	if majorVersion.MatchString(to) {
		return fmt.Errorf("%s ends in a major version, which each module of the repository would need at its own end: leave it out", to)
	}
	first, _, more := strings.Cut(to, "/")
	if strings.Contains(first, ".") {
		if err := module.CheckPath(to); err != nil {
			return fmt.Errorf("%w; a path is like github.com/you/dyno", err)
		}
		return nil
	}
	if standard, err := output("", nil, "go", "list", "-e", "-f", "{{.Standard}}", first); err != nil || more || strings.TrimSpace(standard) == "true" {
		return errors.New(to + " begins like a package of the standard library: begin with a host, as in github.com/you/dyno, or give one word")
	}
	return nil
}

// packageFolders returns the folders that have Go files, also deep inside.
func packageFolders(files []string) map[string]bool {
	folders := map[string]bool{}
	for _, f := range files {
		if path.Ext(f) == ".go" {
			for dir := path.Dir(f); dir != "."; dir = path.Dir(dir) {
				folders[dir] = true
			}
		}
	}
	return folders
}

// rewriter replaces the module path where it names a package or a module of the repository. The
// program's name, URLs, and packages that do not exist (tests have some) stay.
type rewriter struct {
	from, to string
	packages map[string]bool
}

func (r rewriter) file(name string, old []byte) ([]byte, error) {
	if !generated.Match(old) && r.in(old, r.to) {
		return nil, fmt.Errorf("%s names packages of %s already, so that renaming back would change them too: choose another path, or reword the file", name, r.to)
	}
	switch {
	case filepath.Base(name) == "go.mod":
		return r.goMod(name, old)
	case strings.HasSuffix(name, ".go"):
		return r.goFile(old), nil
	}
	return r.text(old), nil
}

// in reports whether a text names a package below a module path.
func (r rewriter) in(text []byte, modulePath string) bool {
	return !bytes.Equal(rewriter{modulePath, "", r.packages}.text(text), text)
}

// generated marks Go files whose strings may have their length before them, as descriptors of
// Protobuf do.
var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

var importLine = regexp.MustCompile(`(?m)^(import )?\s*(\w+ )?"[^"]*"$`)

func (r rewriter) goFile(old []byte) []byte {
	if generated.Match(old) {
		return importLine.ReplaceAllFunc(old, r.text)
	}
	text := r.text(old)
	if clean, err := format.Source(old); err != nil || !bytes.Equal(clean, old) {
		return text // was not formatted before, and so needs no sorted imports
	}
	if sorted, err := format.Source(text); err == nil {
		return sorted
	}
	return text
}

// text replaces the path before each "/" and the folder of a package.
func (r rewriter) text(old []byte) []byte {
	var out []byte
	rest := old
	for {
		i := bytes.Index(rest, []byte(r.from+"/"))
		if i < 0 {
			return append(out, rest...)
		}
		after := rest[i+len(r.from)+1:]
		n := 0
		for n < len(after) && isOfPath(after[n]) {
			n++
		}
		folder := strings.TrimSuffix(strings.TrimRight(string(after[:n]), "/"), "_test")
		starts := i == 0 && len(out) == 0 || i > 0 && !isOfPath(rest[i-1]) && rest[i-1] != '.' && rest[i-1] != '/'
		out = append(out, rest[:i]...)
		if starts && r.packages[folder] {
			out = append(out, r.to...)
		} else {
			out = append(out, r.from...)
		}
		rest = rest[i+len(r.from):]
	}
}

func isOfPath(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '/' || c == '_' || c == '-'
}

// goMod rewrites the directives, and the comments as text.
func (r rewriter) goMod(name string, old []byte) ([]byte, error) {
	f, err := modfile.Parse(name, r.text(old), nil)
	if err != nil {
		return nil, err
	}
	replace := func(tokens []string) {
		for i, t := range tokens {
			if t == r.from {
				tokens[i] = r.to
			}
		}
	}
	for _, stmt := range f.Syntax.Stmt {
		switch stmt := stmt.(type) {
		case *modfile.Line:
			replace(stmt.Token)
		case *modfile.LineBlock:
			for _, line := range stmt.Line {
				replace(line.Token)
			}
		}
	}
	text := modfile.Format(f.Syntax)
	if f, err = modfile.Parse(name, text, nil); err != nil {
		return nil, err
	}
	f.SortBlocks()
	return modfile.Format(f.Syntax), nil
}
