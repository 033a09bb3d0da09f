package host

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
)

func TestProgram(t *testing.T) {
	if p := ProgramOf(os.Getpid()); p.Name != "host.test" || p.Module != thisModule() || !strings.HasSuffix(p.Package, "/probe/host.test") || p.NotGo {
		t.Errorf("this is %+v", p)
	}
	if p := ProgramOf(-1); p != (Program{}) {
		t.Errorf("no process is %+v", p)
	}
	cmd := exec.Command("cat")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	defer cmd.Wait()
	defer stdin.Close()
	if p := ProgramOf(cmd.Process.Pid); p.Name == "" || p.Module != "" || !p.NotGo {
		t.Errorf("cat is %+v", p)
	}
}

// thisModule returns the path of the module that this test is in.
func thisModule() string {
	build, _ := debug.ReadBuildInfo()
	return build.Main.Path
}

func TestCommand(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Base(exe)
	if got := Command(os.Getpid()); got != name[:min(len(name), 15)] {
		t.Errorf("this is %q", got)
	}
	if got := Command(-1); got != "" {
		t.Errorf("no process is %q", got)
	}
}

func TestMachine(t *testing.T) {
	if m := Machine(); m.Kernel == "" || m.MemoryGiB <= 0 || m.Cores < 1 || m.Go == "" || m.Settings["clocksource"] == "" {
		t.Errorf("%+v", m)
	}
}
