package accuracy

import (
	"fmt"
	"slices"
	"strings"

	"sim/internal/text"
	"sim/scenarios/schema"
)

// IdealEvidence is the evidence of a run without a profile of a machine.
const IdealEvidence = "ideal hardware: relative comparisons only"

// Evidence returns a line with the measurements that the times of a scenario rest on: the typical
// factors of the classes that cover its workload, on its machine or, without predictions for the
// machine, on all machines. scenario is the TOML file.
func Evidence(scenario []byte) string {
	root, _, faults := schema.Decode("scenario.toml", scenario)
	if faults != nil {
		return ""
	}
	machine, _ := root["machine"].(string)
	if machine == "" {
		return IdealEvidence
	}
	workload, _ := root["workload"].(map[string]any)
	var parts []string
	for _, class := range evidenceClasses(workload) {
		parts = append(parts, classEvidence(class, machine))
	}
	line := "evidence for machine " + machine + ": "
	if strings.HasSuffix(machine, ".toml") {
		line += "sim calibrate prints the errors of the profile; with built-in profiles "
	}
	return line + strings.Join(parts, "; ") + "; docs/accuracy.md states the conditions"
}

// evidenceClasses returns the names of the classes that cover a workload.
func evidenceClasses(workload map[string]any) []string {
	field := func(name string) string {
		if workload[name] == nil {
			return ""
		}
		return fmt.Sprint(workload[name])
	}
	switch field("kind") {
	case "training":
		if trainsExperts(&Row{Parameters: Parameters{"model": field("model"), "ep": field("ep")}}) {
			return []string{"training-moe"}
		}
		return []string{"training-dense"}
	case "experts":
		return []string{"experts"}
	}
	return []string{"collectives-large", "collectives-small"}
}

// classEvidence describes the error of a class on a machine, or on all machines if no row of the
// machine was predicted.
func classEvidence(class, machine string) string {
	const minRows = 3 // fewer rows show no typical factor
	for _, only := range []bool{true, false} {
		predictions := slices.DeleteFunc(slices.Clone(Stored()), func(p Prediction) bool {
			return p.Class != class || only && p.Machine != machine
		})
		place := ""
		if !only {
			place = " on all machines"
		}
		for _, s := range Summaries(predictions) {
			switch {
			case s.Predicted >= minRows:
				return fmt.Sprintf("%s, typical factor %.2f of %s%s", s.Title, s.TypicalFactor, text.Plural(s.Predicted, "measurement"), place)
			case s.FitFactor > 0 && !only:
				return fmt.Sprintf("%s, factor %.2f of fitted measurements alone%s", s.Title, s.FitFactor, place)
			}
		}
	}
	return classTitle(class) + ", no measurement was predicted"
}

// classTitle returns the title of a class.
func classTitle(name string) string {
	i := slices.IndexFunc(classes, func(c class) bool { return c.name == name })
	return classes[i].title
}
