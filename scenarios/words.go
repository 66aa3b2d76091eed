package scenarios

// Words says in a line what is run on what.
func (s *Scenario) Words() string {
	switch s.decision() {
	case "routers":
		return s.links().Words()
	case "planners":
		return s.domain().Words()
	}
	return s.pods().Words()
}
