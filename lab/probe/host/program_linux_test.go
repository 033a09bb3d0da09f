package host

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"testing"
)

func TestProgram(t *testing.T) {
	if name, module, notGo := Program(os.Getpid()); name != "host.test" || module != thisModule() || notGo {
		t.Errorf("this is %q of %q, not Go: %t", name, module, notGo)
	}
	if name, module, notGo := Program(-1); name != "" || module != "" || notGo {
		t.Errorf("no process is %q of %q, not Go: %t", name, module, notGo)
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
	if name, module, notGo := Program(cmd.Process.Pid); name == "" || module != "" || !notGo {
		t.Errorf("cat is %q of %q, not Go: %t", name, module, notGo)
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
