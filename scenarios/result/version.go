package result

import "runtime/debug"

// Version is the version of sim. It is written into every result.
const Version = "0.2.0"

// Model is the version of the models: it rises whenever some result changes for the same scenario and seed. Results of
// one version may be compared and reused; the baselines in scenarios/baselines hold it to that.
const Model = 11

// Revision returns the commit that the program was built from, with "+dirty" when its tree had changes, or "unknown"
// when the build did not record it.
func Revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	rev, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			rev = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+dirty"
		}
	}
	if rev == "" {
		return "unknown"
	}
	return rev + dirty
}
