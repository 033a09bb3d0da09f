package probe

import (
	"os"
	"os/exec"
	"testing"
)

func TestProgram(t *testing.T) {
	if name, module, notGo := Program(os.Getpid()); name != "probe.test" || module != "dyno" || notGo {
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
