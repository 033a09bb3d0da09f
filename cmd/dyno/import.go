package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dyno/cmd/dyno/usage"
	"dyno/lab/importer"
	"dyno/lab/report/screen"
	"dyno/lab/scenario"
	"dyno/lab/scenario/document"

	"github.com/spf13/cobra"
)

// importing holds the flags of dyno import.
type importing struct {
	as, out string
	options importer.Options
}

func newImport() *cobra.Command {
	var in importing
	cmd := &cobra.Command{
		Use:   "import FILE|-",
		Short: "Write a scenario from a curl command, URLs, vegeta targets, HAR, OpenAPI, k6 or Locust",
		Long: `Import reads requests that another tool has, and writes a scenario that sends them. It says on stderr what it
took and what it left out, and why. It sends nothing. Where a value of one answer, such as a token, is in a later
request, it writes a flow. For a script of k6 or Locust it writes a scenario that runs that tool (dyno windows).

The scenario goes to stdout, or with -o to a file. Cookies, Authorization and other likely secrets are left out, unless
--secrets keeps them, in a second file that only you can read.`,
		Example: `  dyno import checkout.har -o checkout.yaml --target http://127.0.0.1:8080
  pbpaste | dyno import - -o order.yaml          a command copied in a browser as cURL
  dyno import openapi.yaml | less
  dyno import locustfile.py -o users.yaml --target http://127.0.0.1:8080`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return in.run(cmd, args[0]) },
	}
	f := cmd.Flags()
	f.StringVar(&in.as, "as", "", "form of the input: "+strings.Join(importer.Names(), ", ")+" (default: by name and beginning)")
	f.StringVarP(&in.out, "output", "o", "", "file of the scenario (default: stdout); an existing file is never replaced")
	f.StringVar(&in.options.Host, "host", "", "take the requests to this host, as in api.example.com (default: the host with most requests)")
	f.StringVar(&in.options.Target, "target", "", "base URL to send the requests to (default: their own)")
	f.StringVar(&in.options.Kind, "kind", "", "kind of load: flows, which sends the requests in their order, or requests, a mix (default: flows where a value or a cookie passes from one answer to a later request)")
	f.BoolVar(&in.options.NoStatic, "no-static", false, "leave out pictures, style sheets, scripts and other files of a page")
	f.BoolVar(&in.options.Secrets, "secrets", false, "keep secrets, in a second file; needs -o")
	return cmd
}

func (in *importing) run(cmd *cobra.Command, name string) error {
	if kinds := []string{importer.Flows, importer.Mix}; in.options.Kind != "" && !slices.Contains(kinds, in.options.Kind) {
		return usage.Errorf("--kind %s is no kind that import writes; %s", in.options.Kind, document.DidYouMean(in.options.Kind, kinds))
	}
	text, err := input(cmd.InOrStdin(), name)
	if err != nil {
		return err
	}
	form, err := importer.FormOf(in.as, name, text)
	if err != nil {
		return usage.Of(err)
	}
	if form.IsScript() {
		return in.script(cmd, form, name)
	}
	folder := "."
	if name != "-" {
		folder = filepath.Dir(name)
	}
	load, err := form.Read(text, form.Files(folder))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := in.complete(form, name); err != nil {
		return err
	}
	result, err := importer.Convert(load, in.options)
	reportImport(cmd.ErrOrStderr(), result)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if in.out == "" {
		_, err := cmd.OutOrStdout().Write(result.Scenario)
		return err
	}
	if err := in.write(result); err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "wrote %s; next: dyno capacity %s%s\n", in.out, in.out, consent(result.Target))
	return nil
}

// script writes a scenario that runs a script with its own tool.
func (in *importing) script(cmd *cobra.Command, form importer.Form, name string) error {
	if name == "-" {
		return usage.Errorf("%s is run by its own tool, from its file: name the file", form.What)
	}
	for _, flag := range []string{"host", "kind", "no-static", "secrets"} {
		if cmd.Flags().Changed(flag) {
			return usage.Errorf("--%s is for requests that import reads, and %s is run by its own tool", flag, form.What)
		}
	}
	text, err := importer.Script{Tool: form.Name, Path: name, Target: in.options.Target}.Scenario()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if in.out == "" {
		_, err := cmd.OutOrStdout().Write(text)
		return err
	}
	if err := create(in.out, text, 0o644); err != nil {
		return err
	}
	if in.options.Target == "" {
		fmt.Fprintf(cmd.ErrOrStderr(), "note\n  %s does not say where the service is: write target.url into %s, or import it with --target URL\n", screen.Line(name), in.out)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "wrote %s; next: dyno capacity %s%s\n", in.out, in.out, consent(in.options.Target))
	return nil
}

// complete sets the options that depend on the names of files.
func (in *importing) complete(form importer.Form, name string) error {
	if in.options.Secrets && in.out == "" {
		return usage.Errorf("--secrets writes a second file: name the scenario with -o FILE")
	}
	o := &in.options
	o.Source = form.What
	if name == "-" {
		o.Name = form.Name
	} else {
		o.Source += ", " + filepath.Base(name)
		o.Name = strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
	}
	if in.out == "" {
		return nil
	}
	root, err := scenario.Root(in.out)
	if err != nil {
		return err
	}
	base, err := filepath.Abs(strings.TrimSuffix(in.out, filepath.Ext(in.out)))
	if err != nil {
		return err
	}
	if base, err = filepath.Rel(root, base); err != nil {
		return err
	}
	base = filepath.ToSlash(base)
	o.Rows, o.Bodies = base+".rows.ndjson", base+".bodies.ndjson"
	return nil
}

// write writes the scenario and its other files, all or none. It never replaces an existing file.
func (in *importing) write(result *importer.Result) (err error) {
	if err := create(in.out, result.Scenario, 0o644); err != nil {
		return err
	}
	written := []string{in.out}
	defer func() {
		for _, name := range written {
			if err != nil {
				err = errors.Join(err, os.Remove(name))
			}
		}
	}()
	for _, f := range result.Files {
		mode := os.FileMode(0o644)
		if f.Secret {
			mode = 0o600
		}
		name := filepath.Join(filepath.Dir(in.out), filepath.Base(f.Name))
		if err := create(name, f.Data, mode); err != nil {
			return err
		}
		written = append(written, name)
	}
	return nil
}

// create writes a new file, whole or not; it fails if the file exists.
func create(name string, data []byte, mode os.FileMode) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s exists already; name another file", name)
	}
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(name))
	}
	return nil
}

func input(stdin io.Reader, name string) ([]byte, error) {
	in := stdin
	if name != "-" {
		f, err := os.Open(name)
		if errors.Is(err, os.ErrNotExist) {
			return nil, usage.Errorf("there is no file %s; import takes a file, or - for stdin: a curl command, URLs, vegeta targets, HAR, OpenAPI, k6 or Locust", name)
		}
		if err != nil {
			return nil, err
		}
		defer f.Close()
		if info, err := f.Stat(); err == nil && info.IsDir() {
			return nil, usage.Errorf("%s is a folder; import takes a file in it, or - for stdin", name)
		}
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, importer.MaxBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading %s: %w", name, err)
	case len(text) > importer.MaxBytes:
		return nil, fmt.Errorf("%s is larger than %d MiB; import a part of it", name, importer.MaxBytes>>20)
	case len(bytes.TrimSpace(text)) == 0:
		return nil, fmt.Errorf("%s is empty", map[bool]string{true: "stdin", false: name}[name == "-"])
	}
	return text, nil
}

// reportImport prints what was taken and what was left out, without secrets.
func reportImport(w io.Writer, result *importer.Result) {
	const most = 20
	list := func(title string, lines []string) {
		if len(lines) == 0 {
			return
		}
		fmt.Fprintln(w, title)
		for i, line := range lines {
			if i == most && len(lines) > most+1 && title == "took" {
				fmt.Fprintf(w, "  and %d more\n", len(lines)-most)
				break
			}
			fmt.Fprintln(w, "  "+screen.Line(line))
		}
	}
	var left []string
	for _, o := range result.Left {
		left = append(left, importer.Text(o))
	}
	list("took", result.Taken)
	list("left out", left)
	list("note", result.Notes)
}

// consent returns the flag that a target on another machine requires.
func consent(target string) string {
	u, err := url.Parse(target)
	if err != nil || u.Hostname() == "localhost" {
		return ""
	}
	if ip := net.ParseIP(u.Hostname()); ip != nil && ip.IsLoopback() {
		return ""
	}
	return " --i-may-load-this-host (or import it with --target http://127.0.0.1:8080)"
}
