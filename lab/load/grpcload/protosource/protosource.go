// Package protosource compiles .proto files into the descriptors that package grpcload needs to
// encode messages.
//
// It is not for generating code, and contacts no target. The compiler's goroutines end before
// Compile returns.
package protosource

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/linker"
	"github.com/bufbuild/protocompile/reporter"
	_ "google.golang.org/genproto/googleapis/api/annotations" // imported by most services that have an HTTP gateway
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// Limits on what Compile reads and reports.
const (
	maxBytes  = 4 << 20 // of a file
	mostFiles = 10_000
	mostShown = 5 // errors that Compile reports
)

// Compile compiles files and all that they import into a FileDescriptorSet. Import paths are
// relative to the folders in roots or, without any, to the folder of each file.
func Compile(ctx context.Context, files, roots []string) ([]byte, error) {
	if len(roots) == 0 {
		for _, f := range files {
			roots = append(roots, filepath.Dir(f))
		}
	}
	s := &sources{roots: roots}
	var names []string
	for _, f := range files {
		name, err := s.name(f)
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	var faults []error
	compiler := protocompile.Compiler{
		Resolver: protocompile.WithStandardImports(protocompile.ResolverFunc(s.find)),
		Reporter: reporter.NewReporter(func(e reporter.ErrorWithPos) error {
			faults = append(faults, s.explain(e))
			if len(faults) == mostShown {
				return e
			}
			return nil
		}, nil),
	}
	compiled, err := compiler.Compile(ctx, names...)
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	if placed := reporter.ErrorWithPos(nil); errors.As(err, &placed) {
		err = s.explain(placed) // this error is about a missing import
	}
	if err != nil {
		return nil, err
	}
	return proto.Marshal(set(compiled))
}

// set returns the files and their imports, each once.
func set(compiled linker.Files) *descriptorpb.FileDescriptorSet {
	out, have := &descriptorpb.FileDescriptorSet{}, map[string]bool{}
	var add func(f protoreflect.FileDescriptor)
	add = func(f protoreflect.FileDescriptor) {
		if have[f.Path()] {
			return
		}
		have[f.Path()] = true
		for i := range f.Imports().Len() {
			add(f.Imports().Get(i).FileDescriptor)
		}
		out.File = append(out.File, protodesc.ToFileDescriptorProto(f))
	}
	for _, f := range compiled {
		add(f)
	}
	return out
}

// sources finds files by their import paths.
type sources struct {
	roots []string
	read  atomic.Int32
}

// name returns the import path of a file.
func (s *sources) name(file string) (string, error) {
	if _, err := os.Stat(file); err != nil {
		return "", fmt.Errorf("%s: %w; a path counts from the folder of the scenario, or of the go.mod above it", short(file), errors.Unwrap(err))
	}
	for _, root := range s.roots {
		if name, err := filepath.Rel(root, file); err == nil && filepath.IsLocal(name) {
			return filepath.ToSlash(name), nil
		}
	}
	return "", fmt.Errorf("%s is in none of the folders of load.proto_path (%s); add the folder from which its imports count", short(file), s.folders())
}

// find opens the file with an import path; the common files of Google's are built in.
func (s *sources) find(name string) (protocompile.SearchResult, error) {
	for _, root := range s.roots {
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			break // an import must not leave the root folders
		}
		content, err := s.content(filepath.Join(root, filepath.FromSlash(name)))
		switch {
		case err == nil:
			return protocompile.SearchResult{Source: bytes.NewReader(content)}, nil
		case !errors.Is(err, fs.ErrNotExist):
			return protocompile.SearchResult{}, err
		}
	}
	if built, err := protoregistry.GlobalFiles.FindFileByPath(name); err == nil {
		return protocompile.SearchResult{Desc: built}, nil
	}
	return protocompile.SearchResult{}, &absentError{name, s.folders()}
}

// absentError means that no root folder has an imported file.
type absentError struct{ name, folders string }

func (e *absentError) Error() string { return "no such file in " + e.folders }

func (s *sources) content(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	switch {
	case !info.Mode().IsRegular(): // a device or a pipe might never end
		return nil, fmt.Errorf("%s is not a regular file", name)
	case s.read.Add(1) > mostFiles:
		return nil, fmt.Errorf("more than %d files are imported", mostFiles)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err == nil && len(content) > maxBytes {
		err = fmt.Errorf("%s is larger than %d MiB", name, maxBytes>>20)
	}
	return content, err
}

// explain adds to a compiler's error the position and what the author of the scenario can do.
func (s *sources) explain(e reporter.ErrorWithPos) error {
	at := e.GetPosition()
	file := at.Filename
	for _, root := range s.roots {
		if found := filepath.Join(root, filepath.FromSlash(at.Filename)); exists(found) {
			file = found
			break
		}
	}
	err := fmt.Errorf("%s:%d:%d: %w", short(file), at.Line, at.Col, e.Unwrap())
	if absent := (*absentError)(nil); errors.As(e, &absent) {
		return fmt.Errorf("%w; %s", err, advice(file, absent.name))
	}
	return err
}

// advice returns which folder to list in load.proto_path so that an import is found.
func advice(importer, name string) string {
	for dir := filepath.Dir(importer); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if exists(filepath.Join(dir, filepath.FromSlash(name))) {
			return fmt.Sprintf("it is in %s: write load.proto_path: [%[1]s]", short(dir))
		}
	}
	return "name the folder from which it counts in load.proto_path"
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// folders lists the roots for an error message.
func (s *sources) folders() string {
	var out []string
	for _, root := range s.roots {
		out = append(out, short(root))
	}
	return strings.Join(out, ", ")
}

// short returns a path for an error message: relative to the current folder if it lies below
// that.
func short(path string) string {
	if here, err := os.Getwd(); err == nil {
		if name, err := filepath.Rel(here, path); err == nil && filepath.IsLocal(name) {
			return name
		}
	}
	return path
}
