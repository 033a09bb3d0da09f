package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"dyno/lab/probe/procfs"
)

// Hold holds the wake-up latency of a virtual machine's CPUs at 0 until the caller calls release,
// through Linux's power management quality of service (Documentation/admin-guide/pm/cpuidle.rst).
// If that would have no effect, as on physical machines, would use up a CPU quota, or would drain a
// battery, held is false, and why is the reason. release is never nil.
//
// An idle virtual CPU halts. When it has work again, it waits until its host runs it; the guest
// counts that wait as steal, and requests see it as latency, although no other guest used the CPU.
// While a process holds the latency at 0, the kernel lets such a CPU poll for work instead of
// halting it. Polling takes no time from any process of this machine.
func Hold() (release func(), held bool, why string) { return hold("/") }

func hold(root string) (release func(), held bool, why string) {
	release = func() {}
	if why := refusal(os.DirFS(root)); why != "" {
		return release, false, why
	}
	device, err := os.OpenFile(filepath.Join(root, "dev/cpu_dma_latency"), os.O_WRONLY, 0)
	if err != nil {
		return release, false, err.Error()
	}
	if _, err := device.Write(make([]byte, 4)); err != nil { // the latency as an int32 in us, in force while the device is open
		return release, false, errors.Join(err, device.Close()).Error()
	}
	return func() { device.Close() }, true, ""
}

// refusal returns the reason for not holding the latency; empty: there is none.
func refusal(files fs.FS) string {
	if info, err := fs.ReadFile(files, "proc/cpuinfo"); err != nil || !procfs.Virtual(info) {
		return "this is not known to be a virtual machine"
	}
	// Without a driver the kernel halts CPUs whatever the requested latency.
	if driver := text(files, "sys/devices/system/cpu/cpuidle/current_driver"); driver == "" || driver == "none" {
		return "the kernel has no cpuidle driver, without which it halts CPUs regardless"
	}
	statuses, _ := fs.Glob(files, "sys/class/power_supply/*/status") // the only error is a malformed pattern
	for _, status := range statuses {
		scope := text(files, strings.TrimSuffix(status, "status")+"scope")
		if text(files, status) == "Discharging" && scope != "Device" { // Device: the battery of a peripheral, such as a mouse
			return "the machine runs on battery"
		}
	}
	dirs, v2, err := procfs.Cgroups(files, "self", "cpu")
	quota := procfs.NoQuota
	if err == nil {
		quota, _, err = procfs.LowestQuota(files, dirs, v2)
	}
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return "the CPU quota cannot be read: " + err.Error()
	case quota != procfs.NoQuota:
		return fmt.Sprintf("a control group's quota grants %.3g CPUs of a machine that is shared", quota)
	}
	return ""
}

// text returns the content of a small file; empty: it cannot be read.
func text(files fs.FS, path string) string {
	b, _ := fs.ReadFile(files, path)
	return strings.TrimSpace(string(b))
}
