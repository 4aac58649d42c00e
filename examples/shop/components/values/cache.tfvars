size_mb = {{ .nuon.inputs.inputs.cache_mb }}
subnet  = "{{ (.nuon.components.network.outputs).first_subnet | default "none" }}"
