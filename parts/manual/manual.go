// Package manual is the command that writes the man pages and the completions of a program, from
// its commands, where man and shells look for them.
//
// It is not for the pages below docs/, which people write. It starts no goroutines.
package manual

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// New returns the command; its parent must be the program's root.
func New(program string) *cobra.Command {
	return &cobra.Command{
		Use:   "manual DIR",
		Short: "Write the man pages and the completions of bash, zsh and fish",
		Long: `Write a man page of each command and the completions of bash, zsh and fish below DIR, where man and the shells
look for them if DIR is ~/.local/share or /usr/local/share; zsh needs DIR/zsh/site-functions in its fpath.
The pages have the date of the commit that the program was built from, or of SOURCE_DATE_EPOCH.`,
		Example: "  " + program + " manual ~/.local/share\n  man " + program,
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return Write(cmd.Root(), args[0]) },
	}
}

// Write writes the pages and the completions below a folder, in the layout of /usr/share. The
// same program writes the same bytes.
func Write(root *cobra.Command, below string) error {
	date, err := dated(os.Getenv("SOURCE_DATE_EPOCH"))
	if err != nil {
		return err
	}
	root.InitDefaultCompletionCmd()
	name := root.Name()
	pages := filepath.Join(below, "man", "man1")
	if err := os.MkdirAll(pages, 0o755); err != nil {
		return err
	}
	header := &doc.GenManHeader{Section: "1", Source: name, Manual: "Dyno", Date: &date}
	if err := doc.GenManTree(root, header, pages); err != nil {
		return fmt.Errorf("writing the man pages of %s: %w", name, err)
	}
	for _, c := range []struct {
		file  string
		write func(string) error
	}{
		{"bash-completion/completions/" + name, func(f string) error { return root.GenBashCompletionFileV2(f, true) }},
		{"zsh/site-functions/_" + name, root.GenZshCompletionFile},
		{"fish/vendor_completions.d/" + name + ".fish", func(f string) error { return root.GenFishCompletionFile(f, true) }},
	} {
		file := filepath.Join(below, filepath.FromSlash(c.file))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := c.write(file); err != nil {
			return fmt.Errorf("writing %s: %w", file, err)
		}
	}
	return nil
}

// dated returns the date of the pages.
func dated(epoch string) (time.Time, error) {
	if epoch != "" {
		seconds, err := strconv.ParseInt(epoch, 10, 64)
		if err != nil {
			return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH is %q, not a number of seconds", epoch)
		}
		return time.Unix(seconds, 0).UTC(), nil
	}
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, set := range build.Settings {
			if set.Key == "vcs.time" {
				return time.Parse(time.RFC3339, set.Value)
			}
		}
	}
	return time.Now().UTC(), nil
}
