// The retainKeys proposal, "Examples" and "Alternatives": the tags of four types, whose other fields are left out there.
package v1

type ContainerStatus struct {
	State ContainerState `json:"state,omitempty" protobuf:"bytes,2,opt,name=state" patchStrategy:"retainKeys"`
}

type ContainerState struct{}

type DeploymentSpec struct {
	Strategy DeploymentStrategy `json:"strategy,omitempty" protobuf:"bytes,4,opt,name=strategy" patchStrategy:"retainKeys"`
}

type DeploymentStrategy struct{}

type PodSpec struct {
	Volumes []Volume `json:"volumes,omitempty" patchStrategy:"merge|retainKeys" patchMergeKey:"name" protobuf:"bytes,1,rep,name=volumes"`
}

type Volume struct {
	Name string `json:"name"`
}

type PersistentVolumeSource struct {
	// Discriminator.
	// +optional
	Type *string `json:"type,omitempty" protobuf:"bytes,24,opt,name=type"`
}
